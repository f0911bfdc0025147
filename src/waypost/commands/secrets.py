"""The commands on what is encrypted at rest. Imports late, so that --help answers at once."""

from typing import TYPE_CHECKING

from cyclopts import App

from waypost.commands.running import DONE, FAILED, say, with_settings

if TYPE_CHECKING:
    from waypost.settings import Settings

secrets = App(name="secrets", help="What is encrypted at rest.")


@secrets.command(name="rotate")
def rotate_secrets() -> int:
    """Encrypt every secret under the first key of WAYPOST_SECRET_KEY, while the service runs.

    It needs the settings of the service.
    """

    async def run(settings: "Settings") -> int:
        from waypost.commands import opening, rotating  # noqa: PLC0415  # see above

        ring = rotating.key_ring(settings)
        async with opening.database(settings) as db:
            done = await rotating.rotated(db, ring.keys)
        for line in rotating.told(done, ring.name):
            say(line)
        return FAILED if done.unreadable else DONE

    return with_settings(run)
