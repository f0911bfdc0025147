"""Decisions about real requests against a slow reading of the contract: any rules, any visitor, any time."""

from datetime import UTC, datetime, time, timedelta
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from waypost.kit.preferences import DEFAULT
from waypost.redirect.request import read_request
from waypost.redirect.routing.compiled import compile_routing
from waypost.redirect.routing.explain import explain
from waypost.redirect.routing.requests import VisitorReader
from waypost.redirect.routing.rules import decide

AGENTS = {  # (device, platform, browser)
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 "
    "Safari/604.1": ("mobile", "iOS", "Safari"),
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": ("desktop", "Linux", "Firefox"),
    "": ("other", "Other", "Other"),
}
COUNTRIES = {"192.0.2.1": "DE", "192.0.2.2": "FR", "192.0.2.3": ""}
READER = VisitorReader(lambda: COUNTRIES.__getitem__, [], b"key")
READER.country_of_address = COUNTRIES.__getitem__  # what `load` does
ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"]
NAMES, VALUES = ["a", "b.", "é&="], ["1", ".*", "a+b", "a b", "ü", ""]
CLOCK_CHANGES = [
    datetime(2026, 3, 29, 1),
    datetime(2026, 10, 25, 1),
    datetime(2026, 4, 4, 15),
    datetime(2026, 11, 1, 5),
]

MINUTES = st.times().map(lambda at: at.strftime("%H:%M"))
INSTANTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31)) | st.builds(
    lambda change, minutes: change + timedelta(minutes=minutes),
    st.sampled_from(CLOCK_CHANGES),
    st.integers(-2_880, 2_880),
)


def some(values: list[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True)


def condition(type_: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    operators = st.sampled_from([{}, {"operator": "in"}, {"operator": "not_in"}])
    return st.builds(
        lambda fields, operator: {"type": type_} | fields | operator, st.fixed_dictionaries(fields), operators
    )


CONDITIONS = st.one_of(
    condition("device", values=some(["mobile", "desktop", "tablet", "other"])),
    condition("platform", values=some(["iOS", "Linux", "Windows", "Other"])),
    condition("browser", values=some(["Safari", "Firefox", "Chrome", "Other"])),
    condition("country", values=some(["DE", "FR", "US"])),
    condition("language", values=some(["de", "en", "fr"])),
    condition("query", name=st.sampled_from(NAMES), values=some(VALUES)),
    condition(
        "time",
        **{side: st.none() | INSTANTS.map(lambda at: at.replace(tzinfo=UTC).isoformat()) for side in ("from", "to")},
    ),
    condition(
        "schedule",
        weekdays=some([1, 2, 3, 4, 5, 6, 7]),
        timezone=st.sampled_from(ZONES),
        **{"from": MINUTES, "to": MINUTES},
    ),
)
RULES = st.lists(st.lists(CONDITIONS, min_size=1, max_size=3), max_size=5).map(
    lambda rules: [
        {"name": f"Rule {number}", "conditions": conditions, "destination_url": f"https://example.com/{number}"}
        for number, conditions in enumerate(rules)
    ]
)
LANGUAGES = st.lists(
    st.tuples(
        st.sampled_from(["de", "de-AT", "en-US", "fr", "*", "EN"]), st.sampled_from([None, "1", "0.8", "0.5", "0"])
    ),
    max_size=4,
)
REQUESTS = st.fixed_dictionaries(
    {
        "agent": st.sampled_from(list(AGENTS)),
        "address": st.sampled_from(list(COUNTRIES)),
        "languages": LANGUAGES,
        "query": st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)), max_size=3),
        "at": INSTANTS,
    }
)


def holds_by_contract(condition: dict[str, Any], request: dict[str, Any]) -> bool:
    is_in = READINGS.get(condition["type"], is_any_value_in)(condition, request)
    return not is_in if condition.get("operator") == "not_in" else is_in


def is_any_value_in(condition: dict[str, Any], request: dict[str, Any]) -> bool:
    device, platform, browser = AGENTS[request["agent"]]
    found = {
        "device": [device],
        "platform": [platform],
        "browser": [browser],
        "country": [COUNTRIES[request["address"]]],
        "language": most_preferred(request["languages"]),
        "query": [value for name, value in request["query"] if name == condition.get("name")],
    }
    return any(value in condition["values"] for value in found[condition["type"]])


def most_preferred(languages: list[tuple[str, str | None]]) -> list[str]:
    ranked = sorted(languages, key=lambda item: -float(item[1] or 1))  # stable: the first of equal ones
    return [name.split("-")[0].lower() for name, quality in ranked[:1] if quality != "0"]


def is_within(condition: dict[str, Any], request: dict[str, Any]) -> bool:
    start, end = (condition[side] and datetime.fromisoformat(condition[side]) for side in ("from", "to"))
    at = request["at"].replace(tzinfo=UTC)
    return (start is None or start <= at) and (end is None or at < end)


def is_scheduled(condition: dict[str, Any], request: dict[str, Any]) -> bool:
    clock = request["at"].replace(tzinfo=UTC).astimezone(ZoneInfo(condition["timezone"])).replace(tzinfo=None)
    start, end = (time.fromisoformat(condition[side]) for side in ("from", "to"))
    for day in (clock.date() - timedelta(days=1), clock.date()):
        last_day = day if start < end else day + timedelta(days=1)
        is_inside = datetime.combine(day, start) <= clock < datetime.combine(last_day, end)
        if is_inside and day.isoweekday() in condition["weekdays"]:
            return True
    return False


READINGS = {"time": is_within, "schedule": is_scheduled}


@given(RULES, REQUESTS)
def test_decides_as_the_contract_says(rules: list[dict[str, Any]], request: dict[str, Any]) -> None:
    expected = next(
        (
            (rule["name"], rule["destination_url"].encode())
            for rule in rules
            if all(holds_by_contract(condition, request) for condition in rule["conditions"])
        ),
        ("default", None),
    )
    language = ", ".join(f"{name};q={quality}" if quality else name for name, quality in request["languages"])
    query = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in request["query"])
    agent = request["agent"].encode()
    headers = {b"user-agent": agent, b"accept-language": language.encode()}
    sent = read_request(headers, query.encode(), request["address"].encode(), lambda: READER)
    visitor = READER.read(b"0" * 32, sent)
    now = request["at"].replace(tzinfo=UTC).timestamp()
    routing = compile_routing(rules, [])
    assert decide(routing, visitor, now) == expected
    last = explain(routing, visitor, now, DEFAULT)[-1]
    assert last.startswith(f"Rule '{expected[0]}' matches: " if expected[1] else ("No rule matches", "The link has no"))
