"""`waypost secrets`."""

from cyclopts import App

from waypost.commands.runner import EXIT_FAILED, EXIT_OK, FlagOption, Settings, say, with_settings

secrets = App(name="secrets", help="Secrets encrypted at rest.")


@secrets.command(name="rotate")
@with_settings
async def rotate_secrets(settings: Settings, *, old_key_lost: FlagOption = False) -> int:
    """Re-encrypt all secrets with the first key of WAYPOST_SECRET_KEY, while the service runs.

    Run it with the settings of the service.

    Parameters
    ----------
    old_key_lost
        Accept the key although it is not the one that the secrets are encrypted with. They stay unreadable.

    """
    from waypost.commands import key_check, secret_rotation
    from waypost.commands.database import open_database

    ring = secret_rotation.read_key_ring(settings, is_old_key_lost=old_key_lost)
    async with open_database(settings) as db:
        if not old_key_lost:
            await key_check.check_key(db, settings)
        done = await secret_rotation.rotate_all(db, ring)
    for line in secret_rotation.report(done, ring.name):
        say(line)
    return EXIT_FAILED if done.unreadable else EXIT_OK
