"""Says in words why a visitor is sent to a destination."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from waypost.kit.preferences import Preferences
from waypost.redirect.routing.rules import RULES, Condition, Query, Routing, Schedule, Time, Visitor, decide, holds


def explain(routing: Routing, visitor: Visitor, now: float, preferences: Preferences) -> list[str]:
    """Return a sentence for each rule up to the first that matches. If none does, the last is for the destination.

    So the last one is always the reason for what `decide` returns.
    """
    sentences: list[str] = []
    for name, _, conditions in routing[RULES]:
        failed = next((condition for condition in conditions if not holds(condition, visitor, now)), None)
        if failed is None:
            facts = " and ".join(dict.fromkeys(_fact(condition, visitor, now, preferences) for condition in conditions))
            return [*sentences, f"Rule '{name}' matches: {facts}"]
        sentences.append(f"Rule '{name}' doesn't match: {_fact(failed, visitor, now, preferences)}")
    return [*sentences, _reason_without_rule(routing, visitor, now)]


def _reason_without_rule(routing: Routing, visitor: Visitor, now: float) -> str:
    rules, variants, _ = routing
    if not variants:
        return "No rule matches: the link's own destination" if rules else "The link has no rules and no variants"
    decision = decide(routing, visitor, now)
    share, gets = 100 - sum(weight for _, _, weight in variants), "The link's own destination"
    for name, location, weight in variants:
        if decision == (name, location):
            share, gets = weight, f"Variant '{name}'"
    return f"{'No rule matches. ' if rules else ''}{gets} gets {share}% of the visitors"


def _fact(condition: Condition, visitor: Visitor, now: float, preferences: Preferences) -> str:
    """Return what the condition looks at."""
    type_, _, argument = condition
    return _FACTS[type_](visitor, argument, now, preferences)


def _query(visitor: Visitor, argument: Query, *_: object) -> str:
    name = argument[0]
    values = sorted(value.decode(errors="replace") for value in visitor.query.get(name, ()))
    found = " and ".join(f"'{value}'" for value in values) or "absent"
    return f"query parameter '{name.decode()}' is {found}"


def _time(_visitor: Visitor, _argument: Time, now: float, preferences: Preferences) -> str:
    return f"time is {preferences.zoned(datetime.fromtimestamp(now, UTC))}"


def _schedule(_visitor: Visitor, argument: Schedule, now: float, _: Preferences) -> str:
    zone = argument[3]
    return f"time is {datetime.fromtimestamp(now, zone):%A %H:%M} in {zone}"


_FACTS: Mapping[str, Callable[[Visitor, Any, float, Preferences], str]] = {
    "device": lambda visitor, *_: f"device is {visitor.agent.device}",
    "platform": lambda visitor, *_: f"platform is {visitor.agent.platform}",
    "browser": lambda visitor, *_: f"browser is {visitor.agent.browser}",
    "country": lambda visitor, *_: f"country is {visitor.country or 'unknown'}",
    "language": lambda visitor, *_: f"language is {visitor.language or 'unknown'}",
    "query": _query,
    "time": _time,
    "schedule": _schedule,
}
