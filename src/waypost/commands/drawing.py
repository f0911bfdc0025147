"""`waypost qr`: a code on the terminal, or in a file that is there only when it is whole.

Needs neither settings nor a database: any http(s) URL can be drawn.
"""

import contextlib
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from waypost.commands.running import DONE, say
from waypost.kit.errors import SettingsError, WaypostError
from waypost.kit.fields import parse
from waypost.kit.urls import BadUrl, canonical
from waypost.resources.qrcodes import rules
from waypost.resources.qrcodes.drawing import TooLong, matrix_of, png, svg
from waypost.resources.qrcodes.drawing.matrix import MAX_BYTES
from waypost.resources.qrcodes.drawing.terminal import coloured, plain
from waypost.resources.qrcodes.schemas import NewStyle
from waypost.resources.qrcodes.style import CodeStyle

_DRAWERS = {".png": png, ".svg": svg}
_EVERYWHERE = {"level", "margin"}


class DrawFailed(WaypostError):
    """The code could not be drawn."""


def draw(url: str, output: Path | None, **options: Any) -> int:
    """`options` are a CodeStyle's fields; those that are None were not named."""
    asked = {name: value for name, value in options.items() if value is not None}
    text, style = _checked_url(url), _checked_style(asked)
    try:
        if output:
            _save(output, _drawer(output)(text, style))
            for warning in rules.warnings(style, text):
                say(warning)
        else:
            _refuse_files_options(asked)
            _print(text, style)
    except TooLong:
        most = f"{MAX_BYTES[style.level]:,}"
        raise SettingsError(f"The URL is too long: a code of level {style.level} holds {most} bytes.") from None
    except OSError as error:
        raise DrawFailed(f"{output or 'The code'} cannot be written: {error.strerror}") from error
    return DONE


def _checked_url(text: str) -> str:
    """Also on localhost: that is where a service begins."""
    try:
        return canonical(text, is_public=False).text
    except BadUrl as error:
        raise SettingsError(str(error)) from None


def _checked_style(asked: Mapping[str, Any]) -> CodeStyle:
    """Held to what the API takes."""
    fields, problems = parse(NewStyle, asked)
    if problems:
        raise SettingsError("\n".join(f"--{name}: {' '.join(texts)}" for name, texts in problems.errors.items()))
    return fields.code_style


def _drawer(output: Path) -> Callable[[str, CodeStyle], bytes]:
    drawer = _DRAWERS.get(output.suffix.lower())
    if not drawer:
        raise SettingsError(f"--output: The name must end with {' or '.join(_DRAWERS)}.")
    return drawer


def _save(target: Path, picture: bytes) -> None:
    """In place of an older one, as most tools that draw do."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        draft.write_bytes(picture)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _refuse_files_options(asked: Mapping[str, Any]) -> None:
    named = [f"--{name}" for name in asked if name not in _EVERYWHERE]
    if named:
        raise SettingsError(f"{', '.join(named)}: These need a file, named with --output.")


def _print(text: str, style: CodeStyle) -> None:
    matrix = matrix_of(text, style.level)
    is_terminal = sys.stdout.isatty()
    if is_terminal:
        _require_room(matrix.size + 2 * style.margin)
    is_coloured = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    lines = (coloured if is_coloured else plain)(matrix, style.margin)
    # past Python's own buffer, which would complain when the process ends and nobody reads any more
    with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as to:
        to.writelines(f"{line}\n" for line in lines)


def _require_room(columns: int) -> None:
    """Lines that the terminal breaks are no code any more."""
    room = shutil.get_terminal_size().columns
    if room < columns:
        raise DrawFailed(
            f"The code needs {columns} columns and the terminal has {room}: make it wider or its letters smaller, "
            "try --level L, or draw into a file with --output."
        )
