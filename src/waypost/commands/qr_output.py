"""`waypost qr`: a code on the terminal, or in a file that appears only when it is complete.

Needs neither settings nor a database: it draws any http(s) URL.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from waypost.commands.runner import EXIT_OK, problems_by_option, say
from waypost.kit.errors import SettingsError, WaypostError
from waypost.kit.fields import parse
from waypost.kit.urls import ANY_NAME, BadUrl, canonical
from waypost.private_files import replace
from waypost.resources.qrcodes.drawing import TooLong, make_matrix, pdf, png, svg
from waypost.resources.qrcodes.drawing.matrix import MAX_BYTES
from waypost.resources.qrcodes.drawing.terminal import colored, plain
from waypost.resources.qrcodes.layout import lay_out
from waypost.resources.qrcodes.schemas import NewStyle
from waypost.resources.qrcodes.style import CodeStyle
from waypost.resources.qrcodes.warnings import warnings

_DRAWERS = {".png": png, ".svg": svg, ".pdf": pdf}
_TERMINAL_OPTIONS = {"level", "margin"}


class DrawFailed(WaypostError):
    """The code could not be drawn."""


def draw(url: str, output: Path | None, **options: Any) -> int:
    """Draw the code. `options`: the fields of a CodeStyle; None if not set."""
    fields = {name: value for name, value in options.items() if value is not None}
    text, style = _canonical_url(url), _read_style(fields)
    try:
        if output:
            replace(output, _drawer(output)(text, style))  # as most drawing tools do
            for warning in warnings(style, lay_out(text, style), has_logo=False):
                say(warning)
        else:
            _refuse_file_options(fields)
            _print(text, style)
    except TooLong:
        limit = f"{MAX_BYTES[style.level]:,}"
        raise SettingsError(f"The URL is too long: a code of level {style.level} holds {limit} bytes.") from None
    except OSError as error:
        raise DrawFailed(f"{output or 'The code'} cannot be written: {error.strerror}") from error
    return EXIT_OK


def _canonical_url(text: str) -> str:
    """Return the canonical URL. Localhost is allowed, for services under development."""
    try:
        return canonical(text, private=ANY_NAME).text
    except BadUrl as error:
        raise SettingsError(str(error)) from None


def _read_style(fields: Mapping[str, Any]) -> CodeStyle:
    """Return the style, with the same limits as in the API."""
    style, problems = parse(NewStyle, fields)
    if problems:
        raise SettingsError(problems_by_option(problems.errors))
    return style.code_style


def _drawer(output: Path) -> Callable[[str, CodeStyle], bytes]:
    drawer = _DRAWERS.get(output.suffix.lower())
    if not drawer:
        *others, last = _DRAWERS
        raise SettingsError(f"--output: The name must end with {', '.join(others)} or {last}.")
    return drawer


def _refuse_file_options(fields: Mapping[str, Any]) -> None:
    options = [f"--{name.replace('_', '-')}" for name in fields if name not in _TERMINAL_OPTIONS]
    if options:
        raise SettingsError(f"{', '.join(options)}: These options need a file: add --output.")


def _print(text: str, style: CodeStyle) -> None:
    matrix = make_matrix(text, lay_out(text, style))
    is_terminal = sys.stdout.isatty()
    if is_terminal:
        _require_width(matrix.size + 2 * style.margin)
    has_color = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    lines = (colored if has_color else plain)(matrix, style.margin)
    # a copy of stdout: Python would print an error at exit if the reader is gone
    with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _require_width(columns: int) -> None:
    """Raise DrawFailed if lines would wrap: such a code cannot be scanned."""
    available = shutil.get_terminal_size().columns
    if available < columns:
        raise DrawFailed(
            f"The code needs {columns} columns and the terminal has {available}: widen it or reduce its font size, "
            "try --level L, or write to a file with --output."
        )
