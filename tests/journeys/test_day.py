"""A day of visits through the real port: what the API tells of it is what the visitors know, to the click.

DAY_VISITS: 2,000, or a million in `make test-slow`. The test sets the clock, from quarter to quarter of an hour.
"""

import asyncio
import itertools
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
from forked import APP
from journeys import clockwork
from journeys.crowd import send
from journeys.places import places
from journeys.service import Service, Website, eventually, leftovers
from journeys.traffic import DIMENSIONS, QUARTERS, Target, Traffic
from people import new_key, new_person

from waypost.database import Database
from waypost.visitors.countries import data_date

VISITS = int(os.environ.get("DAY_VISITS", "2000"))
BEGIN = datetime(2026, 10, 24, 12, tzinfo=UTC)  # with a midnight in it, and the night in which Berlin's clocks go back
END = BEGIN + timedelta(days=1)
ZONES = ("UTC", "Asia/Kolkata", "Europe/Berlin")
LINKS = [
    Target("spring", "alice", 0.45),
    Target("summer", "alice", 0.2),
    Target("autumn", "alice", 0.04),
    Target("gone", "alice", 0.06),
    Target("shop", "bob", 0.2),
    Target("blog", "bob", 0.05),
]
GONE, GONE_AFTER = "gone", 50  # deleted while clicks of that quarter still wait to be drained
TOP = 50
UNKNOWN = {"country": "unknown", "referrer": "direct"}
"""What stands for the empty value in a query."""


@dataclass(frozen=True)
class Day:
    """A day that is over and drained."""

    traffic: Traffic
    client: httpx.Client
    keys: Mapping[str, Iterator[str]]
    ids: Mapping[str, str]

    def ask(self, account: str, path: str, **parameters: object) -> Any:
        """Ask again after 503, as clients do: on a busy machine a statement can exceed its limit of two seconds."""
        answers = list[httpx.Response]()

        def is_available() -> bool:
            headers = {"Authorization": f"Bearer {next(self.keys[account])}"}
            answers.append(self.client.get(f"/api/v1{path}", params=parameters, headers=headers))
            return answers[-1].status_code != 503

        eventually(is_available, every=1)
        assert answers[-1].status_code == 200, answers[-1].text
        return answers[-1].json()

    def quarters(self, begin: datetime, end: datetime) -> list[int]:
        return [number for number, moment in enumerate(self.traffic.moments) if begin <= moment < end]


@pytest.fixture
def day(database_url: str, tmp_path: Path) -> Iterator[Day]:
    clock = clockwork.Clock.new(tmp_path / "clock", BEGIN - timedelta(hours=1))
    service = Service(
        tmp_path,
        WAYPOST_DATABASE_URL=database_url,
        WAYPOST_TRUSTED_PROXIES="127.0.0.0/8",
        **{APP: "journeys.clockwork", clockwork.FILE: str(tmp_path / "clock")},
    )
    with Website() as page, service:
        keys = asyncio.run(_keys(database_url))
        ids = {target.slug: _create(service, target, next(keys[target.account]), page.url) for target in LINKS}
        chance = Random(2026)
        traffic = Traffic(chance, BEGIN, LINKS, places(chance, data_date(None)), VISITS, f"127.0.0.1:{service.port}")
        reported = Day(traffic, service.client, keys, ids)
        for number, moment in enumerate(traffic.moments):
            clock.set(moment)
            send(service.port, traffic.quarter(number), at_once=4 if number % 10 == 7 else 1)
            if number == GONE_AFTER:
                _delete(service, ids[GONE], next(keys["alice"]))
                traffic.gone.add(GONE)
        clock.set(END + timedelta(minutes=1))
        service.stop()
        service.start()  # the segment that was written to is finished now, and removed once it is drained
        eventually(lambda: not leftovers(tmp_path), within=300)
        yield reported
        assert "Traceback" not in "".join(service.log.lines)


async def _keys(database_url: str) -> dict[str, Iterator[str]]:
    """Of two accounts; enough in turn for more requests than one key may make in a minute."""
    db, found = Database(database_url), {}
    for name in ("alice", "bob"):
        person = await new_person(db, name, now=BEGIN)
        more = [await new_key(db, person.account_id, now=BEGIN) for _ in range(4)]
        found[name] = itertools.cycle([person.key, *(each.key for each in more)])
    await db.close()
    return found


def _create(service: Service, target: Target, key: str, url: str) -> str:
    body = {"slug": target.slug, "destination_url": f"{url}/{target.slug}"}
    made = service.client.post("/api/v1/links", json=body, headers={"Authorization": f"Bearer {key}"})
    assert made.status_code == 201, made.text
    return made.json()["data"]["id"]


def _delete(service: Service, link_id: str, key: str) -> None:
    answer = service.client.delete(f"/api/v1/links/{link_id}", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 204, answer.text


@pytest.mark.timeout(300 + VISITS // 1_000)
def test_clicks_of_a_day_equal_the_visits(day: Day) -> None:
    """One test, because a day takes long to make."""
    assert day.traffic.totals(day.ids, range(QUARTERS)).kinds["human"] > VISITS * 0.7
    _counters_agree(day)
    _lists_agree(day)
    for begin, end in _periods():
        for target in LINKS:
            if target.slug != GONE:
                path = f"/links/{day.ids[target.slug]}/stats"
                _stats_agree(day, target.account, path, [target.slug], begin, end)
        for account in ("alice", "bob"):
            _stats_agree(day, account, "/stats", _slugs_of(account), begin, end)


def _periods() -> list[tuple[datetime, datetime]]:
    """All of it, its two halves, an hour and a half of an afternoon, and one that begins just after a visit."""
    midnight = BEGIN + timedelta(hours=12)
    hour = midnight + timedelta(hours=3)
    return [
        (BEGIN - timedelta(days=2), END + timedelta(days=1)),
        (BEGIN, midnight),
        (midnight, END),
        (hour, hour + timedelta(minutes=90)),
        (BEGIN + timedelta(hours=3, microseconds=1), END - timedelta(hours=3)),
    ]


def _counters_agree(day: Day) -> None:
    for target in LINKS:
        if target.slug != GONE:
            link = day.ask(target.account, f"/links/{day.ids[target.slug]}")["data"]
            assert link["clicks"] == day.traffic.totals([target.slug], range(QUARTERS)).kinds["human"]


def _lists_agree(day: Day) -> None:
    for account in ("alice", "bob"):
        count = day.traffic.totals(_slugs_of(account), range(QUARTERS))
        for kind in ("human", "crawler", "preview", "prefetch"):
            assert _total(day, account, kind=kind) == count.kinds[kind]
        assert _total(day, account) == count.kinds["human"]
        assert _total(day, account, kind="all") == count.kinds.total()
        for name, dimension in (("country", "countries"), ("browser", "browsers"), ("referrer", "referrers")):
            (_, value), clicks = max(
                (item for item in count.dimensions.items() if item[0][0] == dimension), key=lambda item: item[1]
            )
            assert _total(day, account, **{name: value or UNKNOWN[name]}) == clicks
        slug = next(target.slug for target in LINKS if target.account == account)
        of_link = day.traffic.totals([slug], range(QUARTERS))
        assert _total(day, account, link_id=day.ids[slug]) == of_link.kinds["human"]
        hour = day.quarters(BEGIN, BEGIN + timedelta(hours=1))
        until = (BEGIN + timedelta(hours=1)).isoformat()
        assert _total(day, account, to=until) == day.traffic.totals(_slugs_of(account), hour).kinds["human"]


def _total(day: Day, account: str, **filters: str) -> int:
    return day.ask(account, "/clicks", **filters)["meta"]["total"]


def _stats_agree(day: Day, account: str, path: str, slugs: Sequence[str], begin: datetime, end: datetime) -> None:
    quarters = day.quarters(begin, end)
    count = day.traffic.totals(slugs, quarters)
    for zone, interval in itertools.product(ZONES, ("hour", "day")):
        period = {"from": begin.isoformat(), "to": end.isoformat(), "interval": interval, "timezone": zone}
        reported = day.ask(account, path, **period)["data"]
        assert {name: reported[name] for name in ("clicks", "scans", "crawlers", "previews", "visitors")} == {
            "clicks": count.kinds["human"],
            "scans": count.scans,
            "crawlers": count.kinds["crawler"],
            "previews": count.kinds["preview"],
            "visitors": count.visitors,
        }
        _moments_agree(day, reported, slugs, quarters)
        _series_agree(day, reported["series"], slugs, quarters, ZoneInfo(zone), interval)
    for dimension in DIMENSIONS:
        expected = {value: clicks for (name, value), clicks in count.dimensions.items() if name == dimension}
        _top_agrees(reported[dimension], expected)
    if path == "/stats":
        by_link = {day.ids[slug]: day.traffic.totals([slug], quarters).kinds["human"] for slug in slugs}
        shown = {link["link_id"]: link["clicks"] for link in reported["top_links"]}
        assert shown == {link: clicks for link, clicks in by_link.items() if clicks}


def _moments_agree(day: Day, reported: Mapping[str, Any], slugs: Sequence[str], quarters: Iterable[int]) -> None:
    clicked = [day.traffic.moments[number] for number in quarters if day.traffic.totals(slugs, [number]).kinds["human"]]
    first, last = reported["first_clicked_at"], reported["last_clicked_at"]
    assert (first and _read(first)) == (clicked[0] if clicked else None)
    assert (last and _read(last)) == (clicked[-1] if clicked else None)


def _series_agree(
    day: Day,
    series: Sequence[Mapping[str, Any]],
    slugs: Sequence[str],
    quarters: Iterable[int],
    zone: ZoneInfo,
    interval: str,
) -> None:
    """Entries without a click are there, and hold zeros."""
    by_entry = defaultdict(list)
    for number in quarters:
        by_entry[_begin_of(day.traffic.moments[number], zone, interval)].append(number)
    expected = {}
    for at, numbers in by_entry.items():
        count = day.traffic.totals(slugs, numbers)
        if count.kinds["human"]:
            expected[at] = (count.kinds["human"], count.visitors, count.scans)
    reported = {_read(entry["at"]): (entry["clicks"], entry["visitors"], entry["scans"]) for entry in series}
    assert len(reported) == len(series)
    assert {at: totals for at, totals in reported.items() if any(totals)} == expected
    assert by_entry.keys() <= reported.keys()


def _begin_of(moment: datetime, zone: ZoneInfo, interval: str) -> datetime:
    """Hours are stepped back in UTC: in the night the clocks go back, one local hour comes twice."""
    local = moment.astimezone(zone)
    if interval == "day":
        return local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).astimezone(UTC)
    return moment - timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)


def _top_agrees(reported: Sequence[Mapping[str, Any]], expected: Mapping[str, int]) -> None:
    """The largest; where several have the same count, whichever of them."""
    shown = [(entry["value"], entry["clicks"]) for entry in reported]
    assert [clicks for _, clicks in shown] == sorted(expected.values(), reverse=True)[:TOP]
    assert all(expected[value] == clicks for value, clicks in shown)
    assert len({value for value, _ in shown}) == len(shown)


def _slugs_of(account: str) -> list[str]:
    return [target.slug for target in LINKS if target.account == account]


def _read(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
