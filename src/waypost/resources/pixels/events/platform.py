"""What the platforms' APIs have in common, as values: a request, and what its answer means."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from waypost.resources.pixels.events.model import Event


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: Mapping[str, str]
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many of a request's events were taken, and how many were refused for good."""

    sent: int = 0
    rejected: int = 0
    reason: str = ""
    """In the platform's words."""
    is_passing: bool = False
    """The same request may be taken later: none of its events is settled."""


class Unsuitable(Exception):
    """No request can be made with this pixel's ids. The text tells its owner what to change."""


@dataclass(frozen=True, slots=True)
class Platform:
    request: Callable[[str, str, Sequence[Event]], Request]
    """Of the platform's pixel id, the token and the events. Raises Unsuitable."""
    verdict: Callable[[int, Any, int], Verdict]
    """Of an answer's status and JSON (None for what is none), and the number of events sent."""
    is_usable: Callable[[Event], bool]
    """Whether the event has what the platform requires. Often one without spoils its whole request."""


def text_in(content: Any, *keys: str) -> str:
    """The text found along `keys`; "" if there is none."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content if isinstance(content, str) else ""


def number_in(content: Any, *keys: str) -> int | None:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content if isinstance(content, int) else None
