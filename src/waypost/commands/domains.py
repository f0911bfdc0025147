"""`waypost domain`."""

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from waypost.commands.runner import JsonOption, say, with_settings

if TYPE_CHECKING:
    from waypost.settings import Settings

domain = App(name="domain", help="Custom domains of all accounts.")


@domain.command(name="list")
@with_settings
async def list_domains(settings: "Settings", *, json: JsonOption = False) -> None:
    """List the domains of all accounts by name."""
    from waypost.commands import output
    from waypost.commands.database import open_database
    from waypost.resources.domains import store

    async with open_database(settings) as db, db.read() as tx:
        output.write([output.domain_json(*each) for each in await store.list_all(tx)], as_json=json)


@domain.command(name="release")
@with_settings
async def release_domain(
    settings: "Settings", hostname: str, /, *, force: Annotated[bool, Parameter(negative="")] = False
) -> None:
    """Remove a domain from its account. Its links move to the shared domain.

    Parameters
    ----------
    hostname
        The domain, such as go.example.com.
    force
        Release the domain even if it is verified and its links work.

    """
    from waypost import wiring
    from waypost.commands.database import open_database
    from waypost.kit.clock import now
    from waypost.redirect import ChangeFeed
    from waypost.resources.domains import service

    async with open_database(settings) as db:
        with closing(ChangeFeed(settings.data_dir / "run" / "changes")) as feed:
            deps = wiring.domain_deps(settings, db, feed, now)
            released = await service.release(deps, hostname, is_forced=force)
    if released is None:
        say("No account has registered it. Any account can now register it, including one whose claim had expired.")
    else:
        say(f"{released.hostname} is released. Its {released.links_count:,} links are on the shared domain now.")
        if released.verified_at:
            say("It was verified: the next account that registers it must verify it with a TXT record.")
