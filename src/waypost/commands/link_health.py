"""`waypost link-health`."""

from cyclopts import App

from waypost.commands.runner import FlagOption, Settings, say, with_settings
from waypost.kit.errors import SettingsError

link_health = App(name="link-health", help="Health of links.")


@link_health.command(name="check")
@with_settings
async def check_links(settings: Settings, *, now: FlagOption = False) -> None:
    """Visit the destinations of links that are due, while the service runs or not.

    Parameters
    ----------
    now
        Visit those of all active links.

    """
    from waypost.commands.database import open_context
    from waypost.composition import new_destination_checker
    from waypost.resources.links.health import runs

    if not settings.link_check_days:
        raise SettingsError("WAYPOST_LINK_CHECK_DAYS is 0: no links are checked. Set it to a number of days.")
    async with open_context(settings) as context:
        checker = new_destination_checker(settings, context.outbound)
        counts = await runs.check(context, checker, settings.link_check_days, all_links=now)
    texts = [f"{count:,} {status}" for status, count in sorted(counts.items())]
    say(f"Links: {', '.join(texts) or 'none'}.")
