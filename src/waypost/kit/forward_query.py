"""What links forward of the visitor's query, as the API takes it and as text of a column. Pure."""

import json
from typing import Literal

MAX_NAMES = 20
MAX_NAME = 255
NO_FORWARD_QUERY = 'This must be "none", "all", or a list of names of parameters.'
WRONG_COUNT = f'This must have 1 to {MAX_NAMES} names. Send "none" for no parameter, "all" for all.'
NO_TEXT = "Each name must be a string."
NO_NAME = "This must have at least 1 character."
NAME_TOO_LONG = f"This must have at most {MAX_NAME} characters."
ONLY_AT_END = "An asterisk may only be at the end, for the rest of the name."
USE_ALL = 'Send "all" instead of a lone asterisk.'
NOT_VISIBLE = "This must have no blanks, control characters, & or =. Write it as it is after percent-decoding."

ForwardQuery = Literal["none", "all"] | list[str]


def find_name_problem(name: str) -> str | None:
    """Return what is wrong with the name of a parameter, or None. An asterisk at its end matches the rest."""
    if not name:
        return NO_NAME
    if len(name) > MAX_NAME:
        return NAME_TOO_LONG
    if name == "*":
        return USE_ALL
    if "*" in name[:-1]:
        return ONLY_AT_END
    if not name.isprintable() or any(char in " &=" for char in name):
        return NOT_VISIBLE
    return None


def to_text(value: ForwardQuery | None) -> str | None:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def from_text(text: str | None) -> ForwardQuery | None:
    """`text`: of `to_text`."""
    if text is None:
        return None
    value: ForwardQuery = json.loads(text) if text.startswith("[") else "all" if text == "all" else "none"
    return value
