"""Office programs request a link, and then open the browser with it: one click, and a preview."""

from uuid import UUID

import pytest

from waypost.kit.ids import new_id
from waypost.redirect.spool import Visit, encode
from waypost.resources.clicks.intake.build import IntakeSettings
from waypost.resources.clicks.intake.enrich import Enriched, enrich

ACCOUNT = bytes(16)
AT = 1_763_690_000_000_000
SECOND = 1_000_000
LINK, OTHER_LINK = new_id(), new_id()
SETTINGS = IntakeSettings((), "truncated", lambda _address: "", b"key")
CHROME = (
    b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
)
WORD = b"Mozilla/4.0 (compatible; ms-office; MSOffice 16)"
FETCHERS = [
    WORD,
    b"Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Win64; x64; Trident/7.0; .NET4.0C; .NET4.0E; ms-office)",
    b"Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17328; Pro)",
    b"Microsoft Office Word/16.78.1008 (Mac OS/14.0; Desktop; en-US; NonAppStore; Apple/Mac14,2)",
    b"Microsoft Office Word 2014 (16.0.16130) Windows NT 10.0",
    b"Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Microsoft Outlook 16.0.4266; ms-office; MSOffice 16)",
]


def line(user_agent: bytes, after: int = 0, *, link: UUID = LINK, peer: bytes = b"192.0.2.7") -> bytes:
    at = b"%d" % (AT + after)
    return encode(Visit(new_id().hex.encode(), at, link.hex.encode(), peer=peer, user_agent=user_agent))[:-1]


def enriched(*lines: bytes, now: int | None = None) -> Enriched:
    accounts = {link.hex.encode(): ACCOUNT for link in (LINK, OTHER_LINK)}
    return enrich(lines, accounts, {}, SETTINGS, max_deliveries=10, now=now)


def kinds(*lines: bytes) -> list[tuple[str, str | None]]:
    return [(click.kind, click.bot) for click in enriched(*lines).clicks]


@pytest.mark.parametrize("fetcher", FETCHERS)
def test_a_fetch_before_the_browser_is_a_preview(fetcher: bytes) -> None:
    fetch, visit = ("preview", "Microsoft Office"), ("human", None)
    assert kinds(line(fetcher), line(CHROME, 400_000)) == [fetch, visit]
    assert kinds(line(fetcher), line(fetcher, 100_000), line(CHROME, 400_000)) == [fetch, fetch, visit]
    assert kinds(line(CHROME, 400_000), line(fetcher)) == [visit, fetch], "each process has a spool of its own"


@pytest.mark.parametrize("fetcher", FETCHERS)
def test_a_fetch_alone_is_a_click(fetcher: bytes) -> None:
    assert kinds(line(fetcher)) == [("human", None)]


@pytest.mark.parametrize(
    "other",
    [
        line(CHROME, SECOND),
        line(CHROME, -1),
        line(CHROME, 400_000, peer=b"192.0.2.8"),  # of the same network: what is stored of the two is equal
        line(CHROME, 400_000, link=OTHER_LINK),
        line(b"curl/8.5.0", 400_000),
        line(b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", 400_000),
    ],
    ids=["later", "before", "other address", "other link", "no browser", "bot"],
)
def test_what_is_not_certain_stays_a_click(other: bytes) -> None:
    assert kinds(line(WORD), other)[0] == ("human", None)


def test_two_visits_of_a_browser_are_two_clicks() -> None:
    assert kinds(line(CHROME), line(CHROME, 100_000)) == [("human", None)] * 2


def test_waits_a_second_for_the_browser() -> None:
    lines = [line(CHROME), line(WORD, 1), line(CHROME, 2)]
    assert enriched(*lines, now=AT + SECOND).lines == 1
    assert enriched(*lines, now=AT + SECOND + 1).lines == 3
    assert enriched(*lines, now=AT - SECOND).lines == 3, "a clock that was set back delays nothing"
    assert enriched(*lines, now=None).lines == 3


def test_without_addresses_nobody_is_the_same() -> None:
    assert kinds(line(WORD, peer=b""), line(CHROME, 1, peer=b"")) == [("human", None)] * 2
