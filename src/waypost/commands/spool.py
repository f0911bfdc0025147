"""`waypost spool`."""

from pathlib import Path

from cyclopts import App

from waypost.commands.runner import EXIT_FAILED, EXIT_OK, Settings, say, with_settings

spool = App(name="spool", help="Visits that are not in the database yet.")


@spool.command(name="drain")
@with_settings
async def drain_spool(settings: Settings, directory: Path, /) -> int:
    """Move the visits of a node that will not come back to the database.

    Run it with the settings of the service. Run it again after a failure: each visit is counted once.

    Parameters
    ----------
    directory
        Data directory of the node, or the spool directory in it.

    """
    from waypost import logs
    from waypost.commands import spool_drain
    from waypost.commands.database import open_database

    logs.configure()  # the drainer logs damaged lines
    found = spool_drain.find_spool(directory)
    async with open_database(settings) as db:
        done = await spool_drain.drain(settings, db, found)
    say(f"{done.visits:,} visits drained, {done.segments:,} segments removed.")
    for problem in done.problems:
        say(problem)
    return EXIT_FAILED if done.problems else EXIT_OK
