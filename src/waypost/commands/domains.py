"""`waypost domain`."""

from cyclopts import App

from waypost.commands.runner import FlagOption, JsonOption, Settings, say, with_settings
from waypost.kit.errors import NotFound

domain = App(name="domain", help="Custom domains of all accounts.")


@domain.command(name="list")
@with_settings
async def list_domains(settings: Settings, *, json: JsonOption = False) -> None:
    """List the domains of all accounts by name."""
    from waypost.commands import output
    from waypost.commands.database import open_database
    from waypost.resources.domains import store

    async with open_database(settings) as db, db.read() as tx:
        output.write([output.domain_json(email, domain) for email, domain in await store.list_all(tx)], as_json=json)


@domain.command(name="release")
@with_settings
async def release_domain(
    settings: Settings,
    hostname: str,
    /,
    *,
    force: FlagOption = False,
) -> None:
    """Remove a domain from its account. Its links move to the shared domain.

    Parameters
    ----------
    hostname
        The domain, such as go.example.com.
    force
        Release the domain even if it is verified and its links work.

    """
    from waypost.commands.database import open_context
    from waypost.resources import links
    from waypost.resources.domains import service

    async with open_context(settings) as context:
        deps = links.domain_deps(context)
        try:
            released = await service.release(deps, hostname, is_forced=force)
        except NotFound:
            if not await service.delete_registrations(deps, hostname):
                raise
            say(f"{hostname} is not registered. Any waiting period for it has ended.")
            return
    count = released.links_count
    say(f"Released {released.hostname}. {count:,} link{'s' * (count != 1)} moved to the shared domain.")
    if released.verified_at:
        say("It was verified: the next account that registers it must verify it with a TXT record.")
