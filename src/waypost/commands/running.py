"""How a command runs: with the settings read first. Imports late, so that --help answers at once."""

import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from waypost.settings import Settings

DONE, FAILED, WRONG_USAGE = 0, 1, 2


def with_settings(command: "Callable[[Settings], Coroutine[Any, Any, int]]") -> int:
    import asyncio  # noqa: PLC0415  # see above

    from waypost.commands.checking import load_checked  # noqa: PLC0415

    return asyncio.run(command(load_checked()))


def say(text: str) -> None:
    """To a person: stdout is for results."""
    sys.stderr.write(f"{text}\n")
