"""Which destination of a link a visitor gets: that of the first rule that matches, of a variant, or the link's own.

Pure. The parts of a routing are plain tuples, like routes: the garbage collector does not track them.
"""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from waypost.redirect.route_options import DEFAULT_TARGET
from waypost.visitors.agents import Agent

Values = tuple[str, ...]
"""Of a device, platform or browser as in statistics, a country in upper case, a language in lower case."""

Query = tuple[bytes, tuple[bytes, ...]]
"""(name, values), decoded."""

Time = tuple[float, float]
"""(from, to) in seconds since 1970. `to` is not included."""

Schedule = tuple[tuple[int, ...], int, int, ZoneInfo]
"""(weekdays from 1 for Monday, from, to, time zone). `from` and `to` are minutes since midnight; `to` is not included.

If `to` is not after `from`, it is on the next day, and the whole belongs to the weekday it starts on.
"""

Condition = tuple[str, bool, Any]
"""(type, whether the operator is `not_in`, Values | Query | Time | Schedule)."""

Rule = tuple[str, bytes, tuple[Condition, ...]]
"""(name, location, conditions)."""

Variant = tuple[str, bytes, int]
"""(name, location, weight)."""

Routing = tuple[tuple[Rule, ...], tuple[Variant, ...], int]
"""(rules, variants, what `VisitorReader` has to load for the conditions)."""

RULES: Final = 0
NEEDS: Final = 2

_DAY = 86_400
_MONDAY, _SUNDAY = 1, 7
_NO_VALUES: AbstractSet[bytes] = frozenset()


class Visitor(Protocol):
    """What conditions compare. Nothing is read before a condition asks for it."""

    @property
    def agent(self) -> Agent: ...

    @property
    def country(self) -> str:
        """Empty if it is unknown."""

    @property
    def language(self) -> str:
        """The primary subtag of the most preferred language, in lower case. Empty if it is unknown."""

    @property
    def query(self) -> Mapping[bytes, AbstractSet[bytes]]:
        """The values of each parameter, decoded. A set: a visitor sends up to 200, and rules have thousands."""

    def draw(self, day: int) -> int:
        """Return a number below 100, for this visitor and link the same all day. `day`: days since 1970, in UTC."""


@dataclass(frozen=True, slots=True)
class KnownVisitor:
    """A visitor of whom everything is given."""

    agent: Agent
    country: str = ""
    language: str = ""
    query: Mapping[bytes, AbstractSet[bytes]] = field(default_factory=dict)
    drawn: int = 0

    def draw(self, _day: int) -> int:
        return self.drawn


class RoutingDecision(NamedTuple):
    target: str
    """The name of the rule or variant, or DEFAULT_TARGET."""
    location: bytes | None
    """None for the link's own destination."""


_OWN_DESTINATION = RoutingDecision(DEFAULT_TARGET, None)


def decide(routing: Routing, visitor: Visitor, now: float) -> RoutingDecision:
    """Return where this visitor is sent. `now`: seconds since 1970. `explain` says why."""
    rules, variants, _ = routing
    for name, location, conditions in rules:
        for condition in conditions:
            if not holds(condition, visitor, now):
                break
        else:
            return RoutingDecision(name, location)
    if variants:
        drawn = visitor.draw(int(now // _DAY))
        for name, location, weight in variants:
            drawn -= weight
            if drawn < 0:
                return RoutingDecision(name, location)
    return _OWN_DESTINATION


def holds(condition: Condition, visitor: Visitor, now: float) -> bool:
    """What is unknown or absent is in no list."""
    type_, is_negated, argument = condition
    return _IS_IN[type_](visitor, argument, now) is not is_negated


def _is_query_in(visitor: Visitor, argument: Query, _now: float) -> bool:
    name, values = argument
    return not visitor.query.get(name, _NO_VALUES).isdisjoint(values)


def _is_time_in(_visitor: Visitor, argument: Time, now: float) -> bool:
    start, end = argument
    return start <= now < end


def _is_schedule_in(_visitor: Visitor, argument: Schedule, now: float) -> bool:
    """Compare with the clock of the zone. It skips an hour, or repeats one, when it changes."""
    weekdays, start, end, zone = argument
    at = datetime.fromtimestamp(now, zone)
    minute, weekday = at.hour * 60 + at.minute, at.isoweekday()
    if start < end:
        return start <= minute < end and weekday in weekdays
    day_before = weekday - 1 if weekday > _MONDAY else _SUNDAY
    return (minute >= start and weekday in weekdays) or (minute < end and day_before in weekdays)


_IS_IN: Mapping[str, Callable[[Visitor, Any, float], bool]] = {
    "device": lambda visitor, values, _: visitor.agent.device in values,
    "platform": lambda visitor, values, _: visitor.agent.platform in values,
    "browser": lambda visitor, values, _: visitor.agent.browser in values,
    "country": lambda visitor, values, _: visitor.country in values,
    "language": lambda visitor, values, _: visitor.language in values,
    "query": _is_query_in,
    "time": _is_time_in,
    "schedule": _is_schedule_in,
}
