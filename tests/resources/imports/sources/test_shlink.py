from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from people import new_person
from resources.imports.importing import new_deps, run
from resources.imports.servers.scripted import SERVER_ERROR, always
from resources.imports.servers.shlink import HOST, Shlink, short_url, visit
from resources.imports.sources.reading import Waits, read_links, source_of
from sqlalchemy import select

from waypost.audit import Actor
from waypost.database import Database
from waypost.resources.imports import click_pages, lease, service
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.source import (
    Address,
    HasClicksOfLinks,
    Source,
    SourceClick,
    SourceLink,
    UnexpectedAnswer,
    WrongToken,
)
from waypost.resources.imports.sources import shlink as importer
from waypost.resources.links.model import link_clicks


async def test_reads_all_fields() -> None:
    shlink = Shlink(
        short_url(
            1,
            shortCode="Größe/2",
            domain="go.example.com",
            title="Sale",
            tags=["spring"],
            meta={
                "validSince": "2022-01-01T00:00:00+01:00",
                "validUntil": "2023-01-01T00:00:00+01:00",
                "maxVisits": 100,
            },
            visitsSummary={"total": 42, "nonBots": 40, "bots": 2},
            hasRedirectRules=True,
        )
    )
    assert shlink.rules is not None
    shlink.rules["go.example.com", "Größe/2"] = [
        _shlink_rule("https://www.example.com/fr", ("language", None, "fr"), priority=2),
        _shlink_rule(
            "https://apps.example.com",
            ("device", None, "ios"),
            ("query-param", "q", "1"),
            ("valueless-query-param", "app", None),
            priority=1,
        ),
        _shlink_rule("https://www.example.com/home", ("ip-address", None, "192.0.2.*"), ("device", None, "desktop")),
    ]
    with source_of("shlink", shlink) as source:
        assert await read_links(source) == [
            SourceLink(
                "go.example.com/Größe/2",
                Address("go.example.com", "Größe/2"),
                "https://www.example.com/1",
                title="Sale",
                tags=["spring"],
                created_at=datetime(2022, 3, 4, 4, 6, 7, tzinfo=UTC),
                expires_at=datetime(2022, 12, 31, 23, tzinfo=UTC),
                clicks=42,
                forwards_query=True,
                routing={
                    "rules": [
                        {
                            "name": "iOS, 1, app",
                            "conditions": [
                                {"type": "platform", "operator": "in", "values": ["iOS"]},
                                {"type": "query", "operator": "in", "name": "q", "values": ["1"]},
                                {"type": "query", "operator": "in", "name": "app", "values": [""]},
                            ],
                            "destination_url": "https://apps.example.com",
                        },
                        {
                            "name": "fr",
                            "conditions": [{"type": "language", "operator": "in", "values": ["fr"]}],
                            "destination_url": "https://www.example.com/fr",
                        },
                    ],
                    "starts_at": "2021-12-31T23:00:00.000000Z",
                    "click_limit": 100,
                },
                lost_rules=["a redirect rule by ip-address, device"],
                bot_clicks=2,
            )
        ]


def _shlink_rule(url: str, *conditions: tuple[str, str | None, str | None], priority: int = 3) -> dict[str, Any]:
    rows = [{"type": kind, "matchKey": key, "matchValue": value} for kind, key, value in conditions]
    return {"longUrl": url, "priority": priority, "conditions": rows}


async def test_the_same_code_on_several_domains_is_several_links() -> None:
    shlink = Shlink(*(short_url(1, domain=domain) for domain in (None, "a.example.com", "b.example.com")))
    with source_of("shlink", shlink) as source:
        found = await read_links(source)
    assert [link.address.hostname for link in found] == [HOST, "a.example.com", "b.example.com"]
    assert [link.source_id for link in found] == [f"{HOST}//page1", "a.example.com/page1", "b.example.com/page1"]


async def test_device_urls_of_older_versions_become_rules() -> None:
    shlink = Shlink(short_url(1, deviceLongUrls={"android": "https://apps.example.com", "ios": None, "desktop": None}))
    shlink.rules = None
    del shlink.short_urls[0]["hasRedirectRules"]
    with source_of("shlink", shlink) as source:
        (link,) = await read_links(source)
    assert link.routing is not None
    assert [rule["name"] for rule in link.routing["rules"]] == ["Android"]
    assert len(shlink.requests) == 1


async def test_asks_a_version_without_rules_for_those_of_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "LINKS", 5)
    shlink = Shlink(*map(short_url, range(20)))
    shlink.rules = None
    for row in shlink.short_urls:
        del row["hasRedirectRules"]
    with source_of("shlink", shlink) as source:
        assert len(await read_links(source)) == 20
    assert sum(request.path.endswith("/redirect-rules") for request in shlink.requests) == 5


async def test_reads_rules_although_a_link_was_deleted_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "LINKS", 1)
    shlink = Shlink(*(short_url(number, hasRedirectRules=True) for number in range(2)))
    assert shlink.rules is not None
    shlink.rules[None, "page1"] = [_shlink_rule("https://www.example.com/fr", ("language", None, "fr"))]
    shlink.faults.extend([lambda answer: answer, always(404)])
    with source_of("shlink", shlink) as source:
        assert [bool(link.routing) for link in await read_links(source)] == [False, True]


async def test_waits_when_the_rules_of_a_link_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    shlink = Shlink(*(short_url(number, hasRedirectRules=True) for number in range(3)))
    shlink.faults.extend([lambda answer: answer, SERVER_ERROR])
    waits = Waits()
    with source_of("shlink", shlink, waits=waits) as source:
        assert len(await read_links(source)) == 3
    assert waits.seconds == [5.0]


async def test_reads_all_pages_although_links_are_created_and_deleted_meanwhile() -> None:
    shlink = Shlink(*map(short_url, range(350)))
    shlink.overlap = 2

    def change(_: object) -> None:
        if len(shlink.requests) == 1:
            shlink.short_urls.append(short_url(1000))
        if len(shlink.requests) == 2:
            del shlink.short_urls[:20]

    shlink.before = change
    with source_of("shlink", shlink) as source:
        found = {link.destination_url for link in await read_links(source)}
    assert found >= {row["longUrl"] for row in shlink.short_urls}


START = datetime(2024, 1, 1, tzinfo=UTC)


def _visits(count: int, first: int = 0) -> list[dict[str, Any]]:
    return [visit((START + timedelta(seconds=number)).isoformat()) for number in range(first, first + count)]


async def _read_clicks(source: Source, source_id: str) -> list[SourceClick]:
    cursor, clicks = None, []
    while True:
        page = await cast(HasClicksOfLinks, source).clicks_of_link(source_id, cursor)
        clicks += page.clicks
        if page.next_cursor is None:
            return clicks
        cursor = page.next_cursor


async def test_reads_the_visits_of_a_link() -> None:
    shlink = Shlink(short_url(1), short_url(1, domain="go.example.com"))
    shlink.visits[None, "page1"] = [visit("2024-01-01T00:00:00+00:00", potentialBot=True, userAgent="")]
    shlink.visits["go.example.com", "page1"] = [
        visit(
            "2024-01-01T00:00:00+02:00",
            referer="https://t.co/x",
            visitLocation={"countryCode": "ES", "cityName": "Zaragoza"},
        ),
        visit("never"),
    ]
    with source_of("shlink", shlink) as source:
        assert await _read_clicks(source, f"{HOST}//page1") == [SourceClick(f"{HOST}//page1", START, is_bot=True)]
        assert await _read_clicks(source, "go.example.com/page1") == [
            SourceClick(
                "go.example.com/page1",
                datetime(2023, 12, 31, 22, tzinfo=UTC),
                referrer="https://t.co/x",
                user_agent="Mozilla/5.0",
                country="ES",
            )
        ]
        assert await _read_clicks(source, f"{HOST}//deleted") == []


@pytest.mark.parametrize("new", [1, 7, 10, 23])
async def test_reads_each_visit_once_although_others_are_made_meanwhile(
    new: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "VISITS", 10)
    shlink = Shlink(short_url(1))
    visits = shlink.visits[None, "page1"] = _visits(95)

    def visit_again(_: object) -> None:
        if len(shlink.requests) in {2, 4, 5}:
            visits.extend(_visits(new, first=len(visits)))

    shlink.before = visit_again
    with source_of("shlink", shlink) as source:
        clicks = await _read_clicks(source, f"{HOST}//page1")
    assert sorted(click.at for click in clicks) == [START + timedelta(seconds=number) for number in range(95)]


async def test_imports_each_visit_once_although_it_is_killed_and_more_are_made(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "VISITS", 10)
    monkeypatch.setattr(click_pages, "_CLICKS_PER_PAGE", 1)
    alice, deps = await new_person(db, "alice"), new_deps(db)
    shlink = Shlink(*(short_url(number, visitsSummary={"total": 25}) for number in range(3)))
    for number in range(3):
        shlink.visits[None, f"page{number}"] = _visits(20) + _visits(1, first=20) * 5
    with source_of("shlink", shlink) as source:
        import_ = await service.create(deps, Actor.system(alice.account_id), "shlink", {"clicks": True})
        for steps in (3, 2, 4):
            killed = ImportRun(deps, source, await service.get(deps.db, alice.account_id, import_.id), lease.holder())
            await killed.start()
            for _ in range(steps):
                assert await killed.step()
            await killed.stop()
            for visits in shlink.visits.values():
                visits.extend(_visits(3, first=len(visits)))
        reports = [await run(deps, alice, source, clicks=True) for _ in range(3)]
    assert [report.counts.unchanged for report in reports] == [0, 3, 3]
    assert sum(report.counts.clicks for report in reports) == 3 * 34
    assert reports[-1].counts.clicks == 0
    async with db.read() as tx:
        stored = (await tx.execute(select(link_clicks.c.clicks))).scalars().all()
    assert stored == [len(visits) for visits in shlink.visits.values()] == [34] * 3


async def test_stops_an_endless_list_of_visits() -> None:
    shlink = Shlink(short_url(1))
    shlink.visits[None, "page1"] = _visits(3)
    shlink.is_endless = True
    with source_of("shlink", shlink) as source, pytest.raises(UnexpectedAnswer, match="again and again"):
        await _read_clicks(source, f"{HOST}//page1")


async def test_refuses_rows_that_are_no_links() -> None:
    asked = short_url(3, hasRedirectRules=True)
    shlink = Shlink(
        *(short_url(1, longUrl=None), short_url(2, meta=7), {"longUrl": "https://www.example.com"}),
        *(asked | {"shortCode": "\ud800"}, asked | {"domain": "\udfff"}),
    )
    with source_of("shlink", shlink) as source:
        page = await source.link_page(None)
    assert [row.reason for row in page.refused] == [
        "longUrl is missing.",
        "meta is not an object.",
        "shortCode is missing.",
        "shortCode has characters that are not text, or of another encoding.",
        "domain has characters that are not text, or of another encoding.",
    ]


async def test_refuses_a_wrong_key_before_the_first_link() -> None:
    with source_of("shlink", Shlink(), token="wrong") as source, pytest.raises(WrongToken):
        await source.check()
