"""Compiles the rules and variants that a link's `routing` has in the API into what a route keeps in memory."""

from collections.abc import Mapping, Sequence
from math import inf
from sys import intern
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from waypost.kit.clock import parse_timestamp
from waypost.redirect.route import new_location
from waypost.redirect.routing.requests import needs_of
from waypost.redirect.routing.rules import Condition, Query, Routing, Rule, Schedule, Time, Variant

_UTC = ZoneInfo("UTC")


def compile_routing(rules: Sequence[Mapping[str, Any]], variants: Sequence[Mapping[str, Any]]) -> Routing:
    """Return the routing of rules and variants with the fields that the API has. They have been validated.

    Raises ValueError for a destination that must not be sent as a `Location`.
    """
    compiled = tuple(_rule(rule) for rule in rules)
    conditions = (condition for _, _, conditions in compiled for condition in conditions)
    return compiled, tuple(_variant(variant) for variant in variants), needs_of(conditions)


def _rule(rule: Mapping[str, Any]) -> Rule:
    conditions = tuple(_condition(condition) for condition in rule["conditions"])
    return rule["name"], new_location(rule["destination_url"]), conditions


def _variant(variant: Mapping[str, Any]) -> Variant:
    return variant["name"], new_location(variant["destination_url"]), variant["weight"]


def _condition(condition: Mapping[str, Any]) -> Condition:
    type_ = intern(condition["type"])
    argument = _ARGUMENTS.get(type_, _values)(condition)
    return type_, condition.get("operator") == "not_in", argument


def _values(condition: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(intern(value) for value in condition["values"])  # the same in very many routes


def _query(condition: Mapping[str, Any]) -> Query:
    return condition["name"].encode(), tuple(value.encode() for value in condition["values"])


def _time(condition: Mapping[str, Any]) -> Time:
    start, end = condition.get("from"), condition.get("to")
    return (
        parse_timestamp(start).timestamp() if start else -inf,
        parse_timestamp(end).timestamp() if end else inf,
    )


def _schedule(condition: Mapping[str, Any]) -> Schedule:
    start, end = (_minutes(condition[name]) for name in ("from", "to"))
    try:
        zone = ZoneInfo(condition["timezone"])
    except ZoneInfoNotFoundError:  # this machine's time zones are older: never in it, but the link works
        return (), start, end, _UTC
    return tuple(condition["weekdays"]), start, end, zone


def _minutes(time: str) -> int:
    hours, _, minutes = time.partition(":")
    return int(hours) * 60 + int(minutes)


_ARGUMENTS = {"query": _query, "time": _time, "schedule": _schedule}
