"""`waypost webhook`."""

from pathlib import Path

from cyclopts import App

webhook = App(name="webhook", help="Tools for webhook receivers.")


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
    """Receive deliveries on this machine, verify and print them, until Ctrl-C.

    Parameters
    ----------
    port
        Port of 127.0.0.1 to listen on; 0 is any free one.
    secret
        Secret of the webhook. Other users of this machine may see it in the process list.
    secret_file
        File with the secret, instead of --secret.
    status
        HTTP status of the response, such as 500 to test retries.
    certificate
        PEM file with the certificates of an HTTPS receiver, and its key unless --key is given.
    key
        PEM file with the key.

    """
    from waypost.commands import webhook_receiver

    return webhook_receiver.listen(
        port=port,
        secret=webhook_receiver.read_secret(secret, secret_file),
        status=status,
        tls=webhook_receiver.tls_context(certificate, key),
    )
