"""`waypost secrets`."""

from typing import TYPE_CHECKING

from cyclopts import App

from waypost.commands.runner import DONE, FAILED, say, with_settings

if TYPE_CHECKING:
    from waypost.settings import Settings

secrets = App(name="secrets", help="Secrets encrypted at rest.")


@secrets.command(name="rotate")
@with_settings
async def rotate_secrets(settings: "Settings") -> int:
    """Re-encrypt all secrets with the first key of WAYPOST_SECRET_KEY, while the service runs.

    Run it with the settings of the service.
    """
    from waypost.commands import secret_rotation
    from waypost.commands.database import open_database

    ring = secret_rotation.read_key_ring(settings)
    async with open_database(settings) as db:
        done = await secret_rotation.rotate_all(db, ring.keys)
    for line in secret_rotation.report(done, ring.name):
        say(line)
    return FAILED if done.unreadable else DONE
