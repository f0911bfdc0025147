"""The commands on webhooks. Imports late, so that --help answers at once."""

from pathlib import Path

from cyclopts import App

webhook = App(name="webhook", help="For those who receive webhooks.")


@webhook.command(name="listen")
def listen_to_webhooks(
    *,
    port: int = 9000,
    secret: str | None = None,
    secret_file: Path | None = None,
    status: int = 200,
    certificate: Path | None = None,
    key: Path | None = None,
) -> int:
    """Print and verify the deliveries that come to this machine, until Ctrl-C.

    Parameters
    ----------
    port
        Port of 127.0.0.1 to listen on; 0 is any free one.
    secret
        The subscription's secret. Others on this machine may see it in the list of processes.
    secret_file
        File with the secret instead.
    status
        Answer to each delivery, such as 500 to see it come again.
    certificate
        PEM file with the certificates of an HTTPS receiver, and its key unless --key names it.
    key
        PEM file with the key.

    """
    from waypost.commands import listening  # noqa: PLC0415  # see above

    return listening.listen(
        port=port,
        secret=listening.chosen_secret(secret, secret_file),
        status=status,
        tls=listening.chosen_tls(certificate, key),
    )
