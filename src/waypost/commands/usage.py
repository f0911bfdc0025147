"""Wrong usage: what is answered to a command that is not complete."""

from cyclopts import App

from waypost.commands.running import WRONG_USAGE


def refuse_without_command(app: App) -> int | None:
    """For `waypost key` alone: prints its help to stderr and returns the exit code. None if there is a command."""
    chain, apps, rest = app.parse_commands()
    if not chain or rest or apps[-1].default_command:
        return None
    from rich.console import Console  # noqa: PLC0415  # takes as long to import as all else that help needs

    app.help_print(chain, console=Console(stderr=True))
    return WRONG_USAGE
