"""The commands on custom domains. Imports late, so that --help answers at once."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from waypost.commands.running import DONE, say, with_settings

if TYPE_CHECKING:
    from waypost.settings import Settings

domain = App(name="domain", help="Custom domains of all accounts.")


@domain.command(name="list")
def list_domains(*, json: Annotated[bool, Parameter(name="--json", negative="")] = False) -> int:
    """List every account's domains by name."""

    async def run(settings: "Settings") -> int:
        from waypost.commands import opening, printing  # noqa: PLC0415  # see above
        from waypost.resources.domains import store  # noqa: PLC0415

        async with opening.database(settings) as db, db.read() as tx:
            printing.show([printing.domain(*each) for each in await store.list_all(tx)], as_json=json)
        return DONE

    return with_settings(run)


@domain.command(name="release")
def release_domain(hostname: str, /, *, force: Annotated[bool, Parameter(negative="")] = False) -> int:
    """Take a host name from the account that registered it; its links go on under the shared domain.

    Parameters
    ----------
    hostname
        The name, such as go.example.com.
    force
        Also when it is verified and its links work.

    """

    async def run(settings: "Settings") -> int:
        from contextlib import closing  # noqa: PLC0415  # see above

        from waypost import wiring  # noqa: PLC0415
        from waypost.commands import opening  # noqa: PLC0415
        from waypost.kit.clock import now  # noqa: PLC0415
        from waypost.redirect import ChangeFeed  # noqa: PLC0415
        from waypost.resources.domains import service  # noqa: PLC0415

        async with opening.database(settings) as db:
            with closing(ChangeFeed(settings.data_dir / "run" / "changes")) as feed:
                deps = wiring.domain_deps(settings, db, feed, now)
                gone = await service.release(deps, hostname, is_forced=force)
        if gone is None:
            say("Nobody had registered it. From now on everybody can, also who held it for too long without proof.")
        else:
            say(f"{gone.hostname} is free. It had {gone.links_count:,} links, which are on the shared domain now.")
            if gone.verified_at:
                say("It was verified: another account that registers it has to prove it with a TXT record.")
        return DONE

    return with_settings(run)
