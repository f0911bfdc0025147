"""Which destination of a link a visitor gets: that of the first rule that matches, of a variant, or the link's own.

Pure. The parts of a routing are plain tuples, like routes: the garbage collector does not track them.
"""

from collections.abc import Collection
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

from waypost.visitors.agents import Agent

Values = tuple[str, ...]
"""Of a device, platform or browser as in statistics; of a country in upper case; of a language in lower case."""

Query = tuple[bytes, tuple[bytes, ...]]
"""(name, values), decoded."""

Time = tuple[float, float]
"""(from, to) in seconds since 1970, without the second."""

Schedule = tuple[tuple[int, ...], int, int, ZoneInfo]
"""(weekdays from 1 for Monday, from, to, zone). Minutes since midnight; if `to` is not after `from`, `to` is the next
day's, and the time belongs to the weekday it starts on."""

Condition = tuple[str, bool, Values | Query | Time | Schedule]
"""(type, whether the operator is `not_in`, argument)."""

Rule = tuple[str, bytes, tuple[Condition, ...]]
"""(name, location, conditions)."""

Variant = tuple[str, bytes, int]
"""(name, location, weight)."""

Routing = tuple[tuple[Rule, ...], tuple[Variant, ...]]

DEFAULT = "default"
"""The target that the link's own destination is in statistics."""


class Visitor(Protocol):
    """What conditions compare. Each part is read when the first condition asks for it."""

    @property
    def agent(self) -> Agent: ...

    @property
    def country(self) -> str:
        """Empty if it is unknown."""

    @property
    def language(self) -> str:
        """The primary subtag of the most preferred language, in lower case, or ""."""

    def query_values(self, name: bytes) -> Collection[bytes]:
        """Return the values of a query parameter. Empty without it."""

    def draw(self, day: int) -> int:
        """Return a number below 100, the same for this visitor and link all day. `day`: days since 1970 in UTC."""


class Decision(NamedTuple):
    target: str
    """The name of the rule or variant, or DEFAULT."""
    location: bytes | None
    """None for the link's own destination."""
    reason: str


def decide(routing: Routing, visitor: Visitor, now: float) -> Decision:
    """Return what this visitor gets. `now`: seconds since 1970."""
    raise NotImplementedError
