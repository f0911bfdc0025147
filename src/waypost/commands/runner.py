"""Runs a command: reads the settings, reports errors, returns the exit code. Imports late, like all commands."""

import functools
import inspect
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

from cyclopts import App, Parameter

from waypost.kit.errors import Conflict, Invalid, SettingsError, WaypostError

if TYPE_CHECKING:
    from waypost import settings

    Settings = settings.Settings
else:  # `with_settings` loads it
    Settings = Any

P = ParamSpec("P")

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2
_ARGUMENTS = {"email": "EMAIL", "hostname": "HOSTNAME", "directory": "DIRECTORY", "scopes": "--scope"}
"""Arguments and options by field, where they have another name."""

_MAX_LIMIT = 1_000_000


def check_email(option: str, _type: Any, text: str | None) -> None:
    """Validate the value of an option or argument, unless it is left out. Raises Invalid."""
    from waypost.accounts.rules import NOT_EMAIL, is_email, normalize_email

    if text is not None and not is_email(normalize_email(text)):
        raise Invalid({option: [NOT_EMAIL]})


def _check_limit(_type: Any, limit: int) -> None:
    if not 1 <= limit <= _MAX_LIMIT:
        raise Invalid({"--limit": [f"This must be between 1 and {_MAX_LIMIT:,}."]})


AccountArgument = Annotated[str, Parameter(help="Email of the account.", validator=partial(check_email, "email"))]
PersonArgument = Annotated[str, Parameter(help="Email of the person.", validator=partial(check_email, "email"))]
AccountOption = Annotated[
    str, Parameter(name="--account", help="Email of the account.", validator=partial(check_email, "--account"))
]
LimitOption = Annotated[int, Parameter(help="Maximum number of entries.", validator=_check_limit)]
FlagOption = Annotated[bool, Parameter(negative="", show_default=False)]
JsonOption = Annotated[bool, Parameter(name="--json", negative="", show_default=False, help="Print JSON.")]


def with_settings(
    command: Callable[Concatenate[Settings, P], Coroutine[Any, Any, int | None]],
) -> Callable[P, int | None]:
    """Run an async command with the settings as its first argument, which is not an option of the command line."""

    @functools.wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> int | None:
        import asyncio

        from waypost.commands.settings_check import load_settings

        return asyncio.run(command(load_settings(), *arguments, **options))

    settings, *others = inspect.signature(command).parameters.values()
    run.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
    del run.__annotations__[settings.name]
    return run


def read_text(option: str, file: Path) -> str:
    """Read a file that an option names. Raises Invalid."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise Invalid({option: [f"{file} cannot be read: {error.strerror}."]}) from None
    except UnicodeDecodeError:
        raise Invalid({option: [f"{file} cannot be read: it is not text."]}) from None


def say(text: str) -> None:
    """Write a message to stderr; stdout is for results."""
    sys.stderr.write(f"{text}\n")


def say_if_url_is_assumed(settings: Settings) -> None:
    """Warn about printed URLs if neither a setting nor a running service says what they begin with."""
    if "base_url" not in settings.model_fields_set:
        say(f"No service runs in {settings.data_dir}: URLs are those of port 8000. Start it first if it uses another.")


def report_error(error: Exception) -> int:
    """Print what is wrong and return the exit code. A traceback is logged, never printed."""
    if isinstance(error, SettingsError | WaypostError):
        text = str(error) if isinstance(error, SettingsError) else error.details
        say(problems_by_option(error.errors) if isinstance(error, Invalid) else text)
        is_wrong_usage = isinstance(error, SettingsError | Invalid) and not isinstance(error, Conflict)
        return EXIT_USAGE if is_wrong_usage else EXIT_FAILED

    import structlog

    from waypost import logs

    logs.configure()
    structlog.get_logger().critical("unexpected error", error=str(error), exc_info=error)
    return EXIT_FAILED


def problems_by_option(errors: Mapping[str, Sequence[str]], others: Mapping[str, str] = _ARGUMENTS) -> str:
    """Return the problems of each field under its option. `others`: by field, names that are not those of options."""
    lines: list[str] = []
    for field, problems in errors.items():
        name = field.partition(".")[0]
        option = name if name.startswith("--") else others.get(name) or f"--{name.replace('_', '-')}"
        lines += problems if field == "body" else [f"{option}: {' '.join(problems)}"]  # no field in particular
    return "\n".join(lines)


def refuse_without_command(app: App, arguments: Sequence[str] | None = None) -> int | None:
    """Print help and return the exit code if only a group was named, as in `waypost key`. None otherwise.

    `arguments`: by default those of the command line.
    """
    chain, apps, rest = app.parse_commands(arguments)
    if not chain or rest or apps[-1].default_command:
        return None
    from rich.console import Console  # importing it takes as long as all other imports for help

    app.help_print(chain, console=Console(stderr=True))
    return EXIT_USAGE
