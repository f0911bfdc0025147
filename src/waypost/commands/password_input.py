"""Reads a new password from stdin without showing it."""

import getpass
import sys

from waypost.auth import passwords
from waypost.commands.runner import say

_LINE_LIMIT = 4 * passwords.MAX_LENGTH + 2  # bytes: up to four per character in UTF-8, and two for the line ending


def read_new_password(*not_allowed: str) -> str | None:
    """Return the first line of stdin, or print an error and return None if the password rules refuse it.

    On a terminal it prompts without echo. `not_allowed`: the account's email and name.
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
