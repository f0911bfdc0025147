"""What a routing may contain, and where its problems are reported."""

from typing import Any

import pytest

from waypost.kit.errors import Errors
from waypost.kit.fields import REQUIRED, parse
from waypost.resources.links.routing import conditions, schemas
from waypost.resources.links.routing.schemas import ParsedRouting, RoutingFields, parse_routing

URL = "https://example.com/"
IOS = {"type": "platform", "values": ["iOS"]}


def parsed(sent: dict[str, Any]) -> tuple[ParsedRouting, Errors]:
    fields, problems = parse(RoutingFields, sent)
    return parse_routing(fields, problems), problems.errors


def rule(*conditions: Any, name: str = "A", **rest: Any) -> dict[str, Any]:
    return {"name": name, "conditions": list(conditions), "destination_url": URL} | rest


def variant(name: str = "B", weight: Any = 50, **rest: Any) -> dict[str, Any]:
    return {"name": name, "destination_url": URL, "weight": weight} | rest


def schedule(**rest: Any) -> dict[str, Any]:
    return {"type": "schedule", "weekdays": [1], "from": "09:00", "to": "17:00", "timezone": "Europe/Berlin"} | rest


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (IOS, {"type": "platform", "operator": "in", "values": ["iOS"]}),
        (
            {"type": "device", "operator": "not_in", "values": ["Mobile", "mobile", "tablet"], "name": "ignored"},
            {"type": "device", "operator": "not_in", "values": ["mobile", "tablet"]},
        ),
        (
            {"type": "browser", "operator": None, "values": ["Weird Browser"]},
            {"type": "browser", "operator": "in", "values": ["Weird Browser"]},
        ),
        ({"type": "country", "values": ["de", "AT"]}, {"type": "country", "operator": "in", "values": ["DE", "AT"]}),
        ({"type": "language", "values": ["DE"]}, {"type": "language", "operator": "in", "values": ["de"]}),
        (
            {"type": "query", "name": "q[]", "values": ["", ".*", "a b", "😀"]},
            {"type": "query", "operator": "in", "name": "q[]", "values": ["", ".*", "a b", "😀"]},
        ),
        (
            {"type": "time", "from": "2030-01-31T13:00:00+01:00", "to": None},
            {"type": "time", "operator": "in", "from": "2030-01-31T12:00:00.000000Z", "to": None},
        ),
        (
            schedule(weekdays=[7, 1, 7], **{"from": "22:00", "to": "06:00"}),
            {**schedule(weekdays=[1, 7], **{"from": "22:00", "to": "06:00"}), "operator": "in"},
        ),
    ],
)
def test_stores_a_condition_in_one_form(sent: dict[str, Any], stored: dict[str, Any]) -> None:
    found, errors = parsed({"rules": [rule(sent)]})
    assert errors == {}
    assert found.rules[0]["conditions"] == [stored]
    again, errors = parsed({"rules": list(found.rules)})
    assert (again, errors) == (found, {}), "what was read can be sent again"


@pytest.mark.parametrize(
    ("condition", "errors"),
    [
        ({}, {"type": [REQUIRED]}),
        ({"type": None}, {"type": [REQUIRED]}),
        ({"type": "ip", "values": []}, {"type": [f"This must be one of: {'device, platform, browser, country'}"]}),
        (IOS | {"operator": "is"}, {"operator": ["This must be one of: in, not_in."]}),
        ({"type": "browser"}, {"values": [REQUIRED]}),
        ({"type": "browser", "values": None}, {"values": [REQUIRED]}),
        ({"type": "browser", "values": "Firefox"}, {"values": ["This must be a list."]}),
        ({"type": "browser", "values": []}, {"values": [conditions.EMPTY_LIST]}),
        ({"type": "browser", "values": ["a"] * 251}, {"values": ["This must have at most 250 entries."]}),
        (
            {"type": "browser", "values": ["a", " ", 1, "a" * 256, "a\0", "\ud800"]},
            {
                "values.1": [conditions.NO_BLANK],
                "values.2": [conditions.NO_TEXT],
                "values.3": [conditions.TOO_LONG],
                "values.4": ["This must not contain control characters."],
                "values.5": None,
            },
        ),
        ({"type": "device", "values": ["desktop", "phone"]}, {"values.1": [conditions.NO_DEVICE]}),
        (
            {"type": "country", "values": ["DE", "XX", "Germany"]},
            {"values.1": [conditions.NO_COUNTRY], "values.2": [conditions.NO_COUNTRY]},
        ),
        (
            {"type": "language", "values": ["de-AT", "", "*"]},
            {f"values.{i}": [conditions.NO_LANGUAGE] for i in range(3)},
        ),
        ({"type": "query", "values": ["a"]}, {"name": [REQUIRED]}),
        ({"type": "query", "name": "", "values": ["a"]}, {"name": [REQUIRED]}),
        ({"type": "query", "name": "a" * 256, "values": ["a"]}, {"name": ["This must have at most 255 characters."]}),
        ({"type": "time"}, {"from": [conditions.NEITHER]}),
        ({"type": "time", "from": "now", "to": 1}, {"from": [conditions.NO_TIME], "to": ["This must be a string."]}),
        ({"type": "time", "from": "2030-01-02", "to": "2030-01-02"}, {"to": [conditions.NOT_AFTER]}),
        (
            {"type": "schedule"},
            {"weekdays": [REQUIRED], "from": [REQUIRED], "to": [REQUIRED], "timezone": [REQUIRED]},
        ),
        (
            schedule(weekdays=[1, 0, True, "1", 8], **{"from": "24:00", "to": "9:00"}, timezone="Europe/Bielefeld"),
            {
                **{f"weekdays.{index}": [conditions.NO_WEEKDAY] for index in (1, 2, 3, 4)},
                "from": [conditions.NO_TIME_OF_DAY],
                "to": [conditions.NO_TIME_OF_DAY],
                "timezone": [conditions.NO_ZONE],
            },
        ),
        (schedule(weekdays=[]), {"weekdays": [conditions.EMPTY_LIST]}),
        (schedule(weekdays=[[]], timezone="../../etc/passwd"), {"weekdays.0": None, "timezone": [conditions.NO_ZONE]}),
    ],
)
def test_refuses_a_condition(condition: dict[str, Any], errors: dict[str, Any]) -> None:
    _, found = parsed({"rules": [rule(IOS), rule(IOS, condition, name="C")]})
    assert set(found) == {f"rules.1.conditions.1.{name}" for name in errors}
    for name, messages in errors.items():
        if messages and not messages[0].endswith("country"):
            assert found[f"rules.1.conditions.1.{name}"] == messages


def test_names_every_problem_of_a_routing() -> None:
    _, errors = parsed(
        {
            "rules": [{}, 1, rule(), rule(1, name="default"), rule(*[IOS] * 6, name="A")],
            "variants": [variant("A", 60), variant(weight=40), variant("C", 1), variant("D", 1), variant("", 0), {}],
            "password": "abc",
            "click_limit": 0,
            "starts_at": "soon",
            "fallback_url": "a" * 2049,
        }
    )
    assert errors == {
        "rules.0.name": [REQUIRED],
        "rules.0.conditions": [REQUIRED],
        "rules.0.destination_url": [REQUIRED],
        "rules.1": [schemas.NO_OBJECT],
        "rules.2.conditions": [conditions.EMPTY_LIST],
        "rules.3.conditions.0": [schemas.NO_OBJECT],
        "rules.3.name": [schemas.NAME_RESERVED],
        "rules.4.conditions": ["This must have at most 5 entries."],
        "rules.4.name": [schemas.NAME_TAKEN],
        "variants.0.name": [schemas.NAME_TAKEN],
        "variants.2.weight": [schemas.OVER_100],
        "variants.4.name": ["This must not be blank."],
        "variants.4.weight": ["This must be at least 1."],
        **{f"variants.5.{name}": [REQUIRED] for name in ("name", "destination_url", "weight")},
        "password": [schemas.WRONG_LENGTH],
        "click_limit": ["This must be at least 1."],
        "starts_at": ["This must be a date and time in ISO 8601 format, such as 2030-01-31T12:00:00Z."],
        "fallback_url": ["This must have at most 2,048 characters."],
    }


@pytest.mark.parametrize(
    ("field", "sent", "is_valid"),
    [
        ("rules", [rule(IOS, name=str(number)) for number in range(20)], True),
        ("rules", [rule(IOS, name=str(number)) for number in range(21)], False),
        ("rules", {"0": rule(IOS)}, False),
        ("variants", [variant(str(number), 10) for number in range(10)], True),
        ("variants", [variant(str(number), 1) for number in range(11)], False),
        ("click_limit", 2**31 - 1, True),
        ("click_limit", 2**31, False),
        ("click_limit", 1.0, False),
        ("click_limit", True, False),
        ("password", "1234", True),
        ("password", "a\0b😀", True),
        ("password", "    ", True),
        ("password", "😀" * 128, True),
        ("password", "a" * 129, False),
        ("password", "abcd\ud800", False),
        ("password", 1234, False),
    ],
)
def test_bounds(field: str, sent: Any, is_valid: bool) -> None:
    assert set(parsed({field: sent})[1]) == (set() if is_valid else {field})


def test_bounds_all_rules_together() -> None:
    wide = {"type": "query", "name": "q", "values": [f"{number:0255}" for number in range(100)]}
    assert parsed({"rules": [rule(wide), rule(wide, name="B"), rule(wide, name="C")]})[1] == {}
    assert set(parsed({"rules": [rule(wide, wide), rule(wide, wide, name="B")]})[1]) == {"rules"}


def test_reports_few_of_many_wrong_values() -> None:
    wrong = {"type": "country", "values": [f"x{number}" for number in range(250)]}
    assert len(parsed({"rules": [rule(*[wrong] * 5, name=str(number)) for number in range(20)]})[1]) == 20 * 5 * 20


def test_password_is_in_no_log() -> None:
    assert "secret" not in repr(parse(RoutingFields, {"password": "secret"})[0])
