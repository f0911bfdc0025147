"""A new password for a command, read from stdin and never shown."""

import getpass
import sys

from waypost.auth import passwords
from waypost.commands.running import say

_LINE_LIMIT = 4 * passwords.MOST + 2  # bytes: UTF-8 takes at most four for a character, and the line ends with two


def read_new_password(*not_allowed: str) -> str | None:
    """The first line of stdin without its line ending; None, and a message on stderr, when the rules refuse it.

    On a terminal it asks, and does not show what is typed. `not_allowed`: the account's email and name.
    """
    try:
        password = getpass.getpass() if sys.stdin.isatty() else _first_line()
    except UnicodeDecodeError:
        say(f"--password-stdin: This must be UTF-8 text of at most {passwords.MOST:,} characters.")
        return None
    fault = passwords.fault_of(password, *not_allowed)
    if fault:
        say(f"--password-stdin: {fault}")
        return None
    return password


def _first_line() -> str:
    line = sys.stdin.buffer.readline(_LINE_LIMIT)
    return line.removesuffix(b"\n").removesuffix(b"\r").decode()
