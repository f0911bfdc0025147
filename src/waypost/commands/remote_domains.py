"""`waypost --remote URL domain`."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from waypost.commands.remote_links import Client
from waypost.commands.runner import JsonOption, say

if TYPE_CHECKING:
    from waypost_client.models import Domain

DomainArgument = Annotated[str, Parameter(help="ID or hostname.")]
HostnameArgument = Annotated[str, Parameter(help="Such as go.example.com.")]

_COLUMNS = ("hostname", "status", "links_count", "error")

domain = App(name="domain", help="Custom domains of the account.")


@domain.command
def create(hostname: HostnameArgument, /, *, json: JsonOption = False, client: Client) -> None:
    """Create a domain, and show the DNS records that verify it."""
    _write(client.domains.create(hostname), as_json=json)


@domain.command(name="list")
def list_domains(*, json: JsonOption = False, client: Client) -> None:
    """List the domains, newest first."""
    from waypost.commands import remote_output

    remote_output.write_list(list(client.domains.list()), _COLUMNS, as_json=json)


@domain.command
def get(domain: DomainArgument, /, *, json: JsonOption = False, client: Client) -> None:
    """Show a domain."""
    _write(_find(client, domain), as_json=json)


@domain.command
def verify(domain: DomainArgument, /, *, json: JsonOption = False, client: Client) -> None:
    """Request a check of the DNS records. `get` shows the result."""
    _write(client.domains.verify(_find(client, domain).id), as_json=json)


@domain.command
def delete(domain: DomainArgument, /, *, client: Client) -> None:
    """Delete a domain. Its links move to the shared domain."""
    found = _find(client, domain)
    client.domains.delete(found.id)
    say(f"Deleted {found.hostname}.")


def _find(client: Client, name: str) -> "Domain":
    """Return the domain with this ID or hostname. Raises NotFound."""
    from waypost_client import NotFound

    found = next((each for each in client.domains.list() if name.lower() in {each.id, each.hostname}), None)
    if found is None:
        raise NotFound(f"The account has no domain {name}.")
    return found


def _write(domain: "Domain", *, as_json: bool) -> None:
    from waypost.commands import remote_output

    remote_output.write(domain, as_json=as_json)
