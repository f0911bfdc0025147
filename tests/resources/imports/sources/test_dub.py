from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from resources.imports.servers.dub import Dub, dub_click, dub_link
from resources.imports.sources.reading import read_clicks, read_links, read_pages, source_of

from waypost.resources.imports.source import (
    Address,
    SourceClick,
    SourceError,
    SourceLink,
    UnexpectedAnswer,
    WrongToken,
)
from waypost.resources.imports.sources import dub as importer


async def test_reads_all_fields() -> None:
    dub = Dub(
        dub_link(
            1,
            key="Sale",
            externalId="ours-1",
            comments="In autumn",
            expiresAt="2024-01-01T00:00:00.000Z",
            expiredUrl="https://www.example.com/over",
            password="open sesame",
            title="Sale",
            ios="https://apps.example.com/ios",
            geo={"DE": "https://www.example.com/de", "fr": "https://www.example.com/fr"},
            tags=[{"id": "t1", "name": "spring", "color": "red"}],
            testVariants=[
                {"url": "https://www.example.com/1", "percentage": 60},
                {"url": "https://www.example.com/b", "percentage": 40},
            ],
            testCompletedAt="2100-01-01T00:00:00.000Z",
            proxy=True,
            clicks=7,
        )
    )
    with source_of("dub", dub) as source:
        assert await read_links(source) == [
            SourceLink(
                "link_1",
                Address("go.example.com", "Sale"),
                "https://www.example.com/1",
                title="Sale",
                tags=["spring"],
                created_at=datetime(2023, 7, 8, 9, 10, 11, 123000, UTC),
                expires_at=datetime(2024, 1, 1, tzinfo=UTC),
                clicks=7,
                forwards_query=True,
                routing={
                    "rules": [
                        _rule("platform", "iOS", "https://apps.example.com/ios"),
                        _rule("country", "DE", "https://www.example.com/de"),
                        _rule("country", "FR", "https://www.example.com/fr"),
                    ],
                    "variants": [{"name": "Variant 1", "destination_url": "https://www.example.com/b", "weight": 40}],
                    "password": "open sesame",
                    "fallback_url": "https://www.example.com/over",
                },
                external_id="ours-1",
                note="In autumn",
                left_out=["preview text and image", "the end of the A/B test on 2100-01-01"],
            )
        ]


def _rule(condition: str, value: str, url: str) -> dict[str, Any]:
    return {
        "name": value,
        "conditions": [{"type": condition, "operator": "in", "values": [value]}],
        "destination_url": url,
    }


async def test_reads_all_pages_with_archived_and_disabled_links() -> None:
    dub = Dub(*(dub_link(number, archived=number == 7) for number in range(230)))
    dub.links[8]["disabledAt"] = "2024-01-01T00:00:00.000Z"
    dub.overlap = 2
    with source_of("dub", dub) as source:
        found = {link.source_id: link for link in await read_links(source)}
    assert len(found) == 230
    assert [link.source_id for link in found.values() if not link.is_enabled] == ["link_8"]


LONG = f"xn--{'a' * 59}-"


@pytest.mark.parametrize(
    ("key", "path"),
    [("_root", ""), ("xn--ls8h.pdf", "💩.pdf"), ("xn--é", "xn--é"), ("50%25", "50%25"), (f"{LONG}.a", f"{LONG}.a")],
)
async def test_translates_keys(key: str, path: str) -> None:
    with source_of("dub", Dub(dub_link(1, key=key))) as source:
        assert [link.address.path for link in await read_links(source)] == [path]


async def test_an_ended_test_does_not_begin_again() -> None:
    variants = [{"url": "https://www.example.com/b", "percentage": 40}]
    link = dub_link(1, testVariants=variants, testCompletedAt="2024-01-01T00:00:00.000Z")
    with source_of("dub", Dub(link)) as source:
        assert [link.routing for link in await read_links(source)] == [None]


async def test_reads_clicks_of_both_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "CLICK_PAGE", 2)
    dub = Dub(dub_link(1))
    dub.clicks = [
        dub_click(1, "link_1", "2024-01-01T10:00:00.000Z", referer="t.co", refererUrl=None, qr=True),
        {
            "timestamp": "2024-01-02 10:00:00",
            "click_id": "old",
            "link_id": "link_1",
            "country": "Unknown",
            "ua": "Mozilla/5.0",
            "referer": "https://t.co/x",
            "ip": "203.0.113.7",
            "qr": 0,
        },
        dub_click(2, "link_1", "2024-01-03T10:00:00.000Z"),
        {"timestamp": "2024-01-04 10:00:00", "click_id": "of no link"},
    ]
    first = SourceClick(
        "link_1",
        datetime(2024, 1, 1, 10, tzinfo=UTC),
        source_id="click_1",
        referrer="https://t.co",
        browser="Safari",
        platform="iOS",
        device="Mobile",
        country="DE",
        is_qr_scan=True,
    )
    with source_of("dub", dub) as source:
        assert isinstance(source, importer.Dub)
        assert await read_clicks(source) == [
            first,
            SourceClick(
                "link_1",
                datetime(2024, 1, 2, 10, tzinfo=UTC),
                source_id="old",
                referrer="https://t.co/x",
                user_agent="Mozilla/5.0",
                ip="203.0.113.7",
            ),
            replace(
                first, at=datetime(2024, 1, 3, 10, tzinfo=UTC), source_id="click_2", referrer=None, is_qr_scan=False
            ),
        ]


async def test_clicks_made_meanwhile_do_not_move_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "CLICK_PAGE", 2)
    dub = Dub()
    dub.clicks = [dub_click(number, "link_1", f"2024-01-0{number}T00:00:00.000Z") for number in range(1, 6)]
    dub.before = lambda _: dub.clicks.append(dub_click(len(dub.clicks), "link_1", "2099-01-01T00:00:00.000Z"))
    with source_of("dub", dub) as source:
        assert isinstance(source, importer.Dub)
        assert [click.source_id for click in await read_clicks(source)] == [f"click_{number}" for number in range(1, 6)]


async def test_says_that_the_plan_has_no_clicks() -> None:
    dub = Dub()
    dub.plan_has_events = False
    with source_of("dub", dub) as source, pytest.raises(SourceError, match="plan") as raised:
        assert isinstance(source, importer.Dub)
        await source.click_page(None)
    assert not isinstance(raised.value, WrongToken)


async def test_refuses_a_wrong_key() -> None:
    with pytest.raises(WrongToken), source_of("dub", Dub(), token="wrong") as source:
        await source.check()


async def test_stops_endless_lists() -> None:
    dub = Dub(*map(dub_link, range(120)))
    dub.clicks = [dub_click(1, "link_1", "2024-01-01T00:00:00.000Z")]
    dub.is_endless = True
    with source_of("dub", dub) as source:
        assert isinstance(source, importer.Dub)
        with pytest.raises(UnexpectedAnswer, match="again and again"):
            await read_pages(source)
        with pytest.raises(UnexpectedAnswer, match="again and again"):
            await read_clicks(source)
