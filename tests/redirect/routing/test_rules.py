"""Which destination a visitor gets, and why."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from waypost.kit.preferences import DEFAULT
from waypost.redirect.routing.compiled import compile_routing
from waypost.redirect.routing.explain import explain
from waypost.redirect.routing.rules import KnownVisitor, decide
from waypost.visitors.agents import Agent

IPHONE = Agent("Safari", "iOS", "mobile")
GERMAN = KnownVisitor(IPHONE, "DE", "de", {b"ref": {b"mail", b"a.b+c*"}})
UNKNOWN = KnownVisitor(Agent("Other", "Other", "other"))
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC).timestamp()  # a Monday


def rule(*conditions: dict[str, Any], name: str = "Rule") -> dict[str, Any]:
    return {"name": name, "conditions": conditions, "destination_url": f"https://example.com/{name}"}


def variant(name: str, weight: int) -> dict[str, Any]:
    return {"name": name, "destination_url": f"https://example.com/{name}", "weight": weight}


def of(type_: str, *values: str, operator: str = "in", **fields: Any) -> dict[str, Any]:
    return {"type": type_, "operator": operator, "values": values, **fields}


def target(visitor: KnownVisitor, *rules: dict[str, Any], now: float = NOON) -> str:
    return decide(compile_routing(rules, []), visitor, now).target


def matches(visitor: KnownVisitor, *conditions: dict[str, Any], now: float = NOON) -> bool:
    return target(visitor, rule(*conditions), now=now) == "Rule"


@pytest.mark.parametrize(
    "condition",
    [
        of("device", "tablet", "mobile"),
        of("platform", "iOS"),
        of("browser", "Safari"),
        of("country", "AT", "DE"),
        of("language", "de"),
        of("query", "mail", name="ref"),
        of("query", "a.b+c*", name="ref"),
    ],
)
def test_a_value_is_in_the_list_or_not(condition: dict[str, Any]) -> None:
    without_operator = {name: value for name, value in condition.items() if name != "operator"}
    assert matches(GERMAN, condition)
    assert matches(GERMAN, without_operator)
    assert not matches(GERMAN, condition | {"operator": "not_in"})
    assert not matches(UNKNOWN, condition)
    assert matches(UNKNOWN, condition | {"operator": "not_in"})


@pytest.mark.parametrize("value", ["m.il", "mai", ".*", "", "MAIL", "[mail]", "^mail$"])
def test_query_values_are_compared_exactly(value: str) -> None:
    assert not matches(GERMAN, of("query", value, name="ref"))


def test_other_is_a_value_of_statistics() -> None:
    assert matches(UNKNOWN, of("platform", "Other"), of("device", "other"))
    assert not matches(UNKNOWN, of("country", "Other"))


def test_all_conditions_of_a_rule_must_hold() -> None:
    assert matches(GERMAN, of("country", "DE"), of("platform", "iOS"))
    assert not matches(GERMAN, of("country", "DE"), of("platform", "Android"))


def test_the_first_rule_that_matches_wins() -> None:
    rules = rule(of("country", "FR"), name="A"), rule(of("country", "DE"), name="B"), rule(of("platform", "iOS"))
    assert target(GERMAN, *rules) == "B"
    assert decide(compile_routing(rules, []), GERMAN, NOON).location == b"https://example.com/B"


def test_variants_share_the_visitors_whom_no_rule_matches() -> None:
    routing = compile_routing([rule(of("country", "DE"))], [variant("A", 20), variant("B", 30)])
    targets = [decide(routing, KnownVisitor(IPHONE, drawn=drawn), NOON) for drawn in range(100)]
    assert [target for target, _ in targets] == ["A"] * 20 + ["B"] * 30 + ["default"] * 50
    assert targets[0].location == b"https://example.com/A"
    assert targets[99].location is None
    assert decide(routing, GERMAN, NOON).target == "Rule"


@pytest.mark.parametrize(
    ("start", "end", "holds"),
    [
        ("2026-11-23T12:00:00Z", "2026-11-23T12:00:00.000001Z", True),
        ("2026-11-23T11:00:00Z", "2026-11-23T12:00:00Z", False),
        ("2026-11-23T12:00:01Z", "2026-11-24T00:00:00Z", False),
        ("2026-11-23T12:00:00Z", None, True),
        (None, "2026-11-23T12:00:00Z", False),
        (None, "2026-11-23T14:00:00+01:00", True),
    ],
)
def test_time_includes_its_start_but_not_its_end(start: str | None, end: str | None, *, holds: bool) -> None:
    condition = {"type": "time", "operator": "in", "from": start, "to": end}
    assert matches(UNKNOWN, condition) is holds
    assert matches(UNKNOWN, condition | {"operator": "not_in"}) is not holds


def schedule(weekdays: list[int], start: str, end: str, zone: str = "Europe/Berlin", **fields: Any) -> dict[str, Any]:
    return {"type": "schedule", "weekdays": weekdays, "from": start, "to": end, "timezone": zone, **fields}


@pytest.mark.parametrize(
    ("condition", "inside", "outside"),
    [
        # 2026-11-23 is a Monday; Berlin is an hour ahead of UTC
        (schedule([1], "09:00", "17:00"), ["23T08:00", "23T15:59"], ["23T07:59", "23T16:00", "24T08:00", "22T08:00"]),
        (schedule([1, 3], "00:00", "00:01"), ["22T23:00", "24T23:00"], ["22T22:59", "22T23:01", "23T23:00"]),
        (schedule([5], "22:00", "06:00"), ["27T21:00", "28T04:59"], ["27T20:59", "28T05:00", "27T04:00", "28T21:00"]),
        (schedule([7], "22:00", "06:00"), ["22T22:00", "23T04:59"], ["22T04:00", "23T05:00", "23T21:00"]),
        (schedule([6], "00:00", "00:00"), ["27T23:00", "28T22:59"], ["27T22:59", "28T23:00"]),
        (schedule([6], "12:00", "12:00"), ["28T11:00", "29T10:59"], ["28T10:59", "29T11:00"]),
        (schedule([2], "00:00", "24:00", "Pacific/Kiritimati"), ["23T10:00", "24T09:59"], ["23T09:59", "24T10:00"]),
        (schedule([1], "23:30", "00:15", "Asia/Kathmandu"), ["23T17:45", "23T18:29"], ["23T17:44", "23T18:30"]),
    ],
)
def test_a_schedule_is_in_the_zone_and_belongs_to_its_first_weekday(
    condition: dict[str, Any], inside: list[str], outside: list[str]
) -> None:
    for expected, times in ((True, inside), (False, outside)):
        for time in times:
            now = datetime.fromisoformat(f"2026-11-{time}:00Z").timestamp()
            assert matches(UNKNOWN, condition, now=now) is expected, time
            assert matches(UNKNOWN, condition | {"operator": "not_in"}, now=now) is not expected, time


def minutes_inside(condition: dict[str, Any], day: datetime) -> list[str]:
    """The minutes of a local day on which the condition holds, as the clock there shows them."""
    zone = ZoneInfo(condition["timezone"])
    start = (day - timedelta(hours=14)).timestamp()
    instants = [datetime.fromtimestamp(start + 60 * minute, zone) for minute in range(40 * 60)]
    inside = [at for at in instants if at.date() == day.date() and matches(UNKNOWN, condition, now=at.timestamp())]
    return [f"{at:%H:%M}" for at in inside]


def test_a_skipped_hour_is_in_no_schedule() -> None:
    """2026-03-29 in Berlin: after 01:59 comes 03:00."""
    sunday = datetime(2026, 3, 29, tzinfo=UTC)
    assert minutes_inside(schedule([7], "02:10", "02:50"), sunday) == []
    assert len(minutes_inside(schedule([7], "01:30", "03:30"), sunday)) == 60
    assert len(minutes_inside(schedule([7], "00:00", "00:00"), sunday)) == 23 * 60
    assert len(minutes_inside(schedule([6], "22:00", "06:00"), sunday)) == 5 * 60


def test_a_repeated_hour_is_in_a_schedule_twice() -> None:
    """2026-10-25 in Berlin: after 02:59 comes 02:00."""
    sunday = datetime(2026, 10, 25, tzinfo=UTC)
    twice = [f"02:{minute}" for minute in range(10, 50)]
    assert minutes_inside(schedule([7], "02:10", "02:50"), sunday) == [*twice, *twice]
    assert len(minutes_inside(schedule([7], "01:30", "03:30"), sunday)) == 180
    assert len(minutes_inside(schedule([6], "22:00", "06:00"), sunday)) == 7 * 60


def test_a_time_zone_that_this_machine_does_not_have_is_never_in_a_schedule() -> None:
    condition = schedule([1, 2, 3, 4, 5, 6, 7], "00:00", "00:00", "Mars/Olympus_Mons")
    assert not matches(UNKNOWN, condition)


def test_a_location_that_must_not_be_sent_is_refused() -> None:
    with pytest.raises(ValueError, match="Location"):
        compile_routing([], [variant("A", 1) | {"destination_url": "javascript:alert(1)"}])


def reasons(visitor: KnownVisitor, rules: list[dict[str, Any]], variants: list[dict[str, Any]]) -> list[str]:
    return explain(compile_routing(rules, variants), visitor, NOON, DEFAULT)


def test_a_reason_says_what_the_conditions_look_at() -> None:
    iphone = rule(of("platform", "iOS"), of("country", "US", operator="not_in"), name="iPhone")
    assert reasons(GERMAN, [iphone], []) == ["Rule 'iPhone' matches: platform is iOS and country is DE"]
    assert reasons(UNKNOWN, [iphone], []) == [
        "Rule 'iPhone' doesn't match: platform is Other",
        "No rule matches: the link's own destination",
    ]


@pytest.mark.parametrize(
    ("condition", "fact"),
    [
        (of("device", "tablet"), "device is mobile"),
        (of("browser", "Chrome"), "browser is Safari"),
        (of("country", "US"), "country is DE"),
        (of("language", "fr"), "language is de"),
        (of("query", "x", name="ref"), "query parameter 'ref' is 'a.b+c*' and 'mail'"),
        (of("query", "x", name="é"), "query parameter 'é' is absent"),
        ({"type": "time", "from": None, "to": "2026-01-01"}, "time is 23 Nov 2026, 12:00 UTC"),
        (schedule([7], "09:00", "10:00"), "time is Monday 13:00 in Europe/Berlin"),
    ],
)
def test_each_type_has_a_reason(condition: dict[str, Any], fact: str) -> None:
    assert reasons(GERMAN, [rule(condition)], [])[0] == f"Rule 'Rule' doesn't match: {fact}"


def test_unknown_values_are_named() -> None:
    assert reasons(UNKNOWN, [rule(of("country", "US"))], [])[0].endswith("country is unknown")
    assert reasons(UNKNOWN, [rule(of("language", "de"))], [])[0].endswith("language is unknown")


def test_a_variant_has_a_reason() -> None:
    variants = [variant("A", 20), variant("B", 30)]
    assert reasons(UNKNOWN, [], variants) == ["Variant 'A' gets 20% of the visitors"]
    later = KnownVisitor(IPHONE, drawn=60)
    assert reasons(later, [], variants) == ["The link's own destination gets 50% of the visitors"]
    assert reasons(later, [], []) == ["The link has no rules and no variants"]
    assert reasons(later, [rule(of("country", "US"))], variants)[-1] == (
        "No rule matches. The link's own destination gets 50% of the visitors"
    )
