"""A new password for a command, read from stdin and never shown."""

import getpass
import sys

from waypost.auth import passwords
from waypost.commands.running import say

_LINE_LIMIT = 4 * passwords.MAX_LENGTH + 2  # bytes: at most four per character in UTF-8, and two end the line


def read_new_password(*not_allowed: str) -> str | None:
    """The first line of stdin without its line ending; None, and a message on stderr, when the rules refuse it.

    On a terminal it asks, and does not show what is typed. `not_allowed`: the account's email and name.
    """
    try:
        password = getpass.getpass() if sys.stdin.isatty() else _first_line()
    except UnicodeDecodeError:
        say(f"--password-stdin: This must be UTF-8 text of at most {passwords.MAX_LENGTH:,} characters.")
        return None
    fault = passwords.find_problem(password, *not_allowed)
    if fault:
        say(f"--password-stdin: {fault}")
        return None
    return password


def _first_line() -> str:
    line = sys.stdin.buffer.readline(_LINE_LIMIT)
    return line.removesuffix(b"\n").removesuffix(b"\r").decode()
