"""Reports of abuse: the form on the page about a link."""

import asyncio
from html import unescape
from urllib.parse import urlencode

import pytest
from browser.hostile import TEXTS
from wire import HOST, LINK, Previews, Routes, Wire, route

from waypost.redirect import metrics
from waypost.redirect.report_pages import MAX_BODY, MAX_TEXT, LinkReport, form, read_report, thanks_page

SAME = "Sec-Fetch-Site: same-origin\r\n"
PHISHING = {"reason": "phishing", "text": "It looks like my bank", "email": "ann@example.com"}


@pytest.fixture
def source() -> Routes:
    return Routes({b"hello": route(), b"expired": route(expires_at=1.0)})


def post(path: str, fields: dict[str, str], more: str = SAME, *, host: bytes = HOST) -> bytes:
    body = urlencode(fields)
    head = f"POST {path} HTTP/1.1\r\nHost: {host.decode()}\r\n{more}Content-Length: {len(body)}\r\n"
    return f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}".encode()


async def test_a_report_is_stored_with_its_link(fast: Wire, plain: Wire, previews: Previews, visits) -> None:
    before = metrics.REPORT_PAGE[0]
    for wire in (fast, plain):
        answer = await wire.say(post("/hello+", PHISHING))
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.endswith(thanks_page(LinkReport("", "", "")))
        assert b"form-action 'self';" in answer
        assert b"\r\ncache-control: private, no-store\r\n" in answer
    report = LinkReport("phishing", "It looks like my bank", "ann@example.com")
    assert previews.reports == [(LINK, report)] * 2
    assert metrics.REPORT_PAGE[0] - before == 2
    assert visits() == []


MISSING = ("/nothing+", "/expired+", "/hello", "/hello++", "/+")


@pytest.mark.parametrize("path", MISSING)
async def test_only_links_with_a_page_can_be_reported(path: str, fast: Wire, previews: Previews) -> None:
    assert (await fast.say(post(path, PHISHING))).startswith(b"HTTP/1.1 405 ")
    assert previews.reports == []


FROM_ELSEWHERE = {
    "another site": "Sec-Fetch-Site: cross-site\r\n",
    "another host of the same site": "Sec-Fetch-Site: same-site\r\n",
    "a typed address": "Sec-Fetch-Site: none\r\n",
    "another origin": "Origin: https://evil.example\r\n",
    "a hidden origin": "Origin: null\r\n",
    "no URL": "Origin: https://[\r\n",
    "bytes": "Origin: http://go.tést\r\n",
}


@pytest.mark.parametrize("name", FROM_ELSEWHERE)
async def test_pages_of_others_cannot_report(name: str, fast: Wire, previews: Previews) -> None:
    answer = await fast.say(post("/hello+", PHISHING, FROM_ELSEWHERE[name]))
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert previews.reports == []


@pytest.mark.parametrize("more", ["", f"Origin: http://{HOST.decode()}\r\n", f"Origin: https://{HOST.decode()}\r\n"])
async def test_browsers_without_the_header_can_report(more: str, fast: Wire, previews: Previews) -> None:
    assert (await fast.say(post("/hello+", PHISHING, more))).startswith(b"HTTP/1.1 200 ")
    assert len(previews.reports) == 1


WRONG = {
    "nothing": ({}, "reason"),
    "no such reason": ({"reason": "boring"}, "reason"),
    "something else, without a text": ({"reason": "other", "text": " \r\n "}, "text"),
    "a long text": ({"reason": "spam", "text": "ü" * (MAX_TEXT + 1)}, "text"),
    "no email": ({"reason": "spam", "email": "ann"}, "email"),
    "two emails": ({"reason": "spam", "email": "ann@example.com, bob@example.com"}, "email"),
    "a header": ({"reason": "spam", "email": "ann@example.com\r\nBcc: all@example.com"}, "email"),
    "a long email": ({"reason": "spam", "email": f"{'a' * 250}@example.com"}, "email"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_wrong_fields_are_shown_in_the_form(name: str, fast: Wire, previews: Previews) -> None:
    fields, wrong = WRONG[name]
    answer = await fast.say(post("/hello+", fields))
    assert answer.startswith(b"HTTP/1.1 422 ")
    assert answer.count(b'role="alert"') == 1
    assert [*read_report(fields).errors] == [wrong]
    assert previews.reports == []


async def test_a_large_body_is_no_report(fast: Wire, previews: Previews) -> None:
    assert (await fast.say(post("/hello+", PHISHING | {"more": "x" * MAX_BODY}))).startswith(b"HTTP/1.1 422 ")
    assert previews.reports == []


async def test_the_longest_text_fits(fast: Wire, previews: Previews) -> None:
    text = "🔑" * MAX_TEXT
    assert (await fast.say(post("/hello+", PHISHING | {"text": text}))).startswith(b"HTTP/1.1 200 ")
    assert previews.reports[0][1].text == text


async def test_responds_503_without_the_database(fast: Wire, previews: Previews) -> None:
    previews.is_gone = True
    assert (await fast.say(post("/hello+", PHISHING))).startswith(b"HTTP/1.1 503 ")


@pytest.mark.parametrize("name", TEXTS)
def test_texts_stay_texts(name: str) -> None:
    text = TEXTS[name]
    report = read_report({"reason": "boring", "text": text, "email": text})
    assert all(char == "\n" or char.isprintable() for char in report.text)
    html = form(report)
    shown = html.partition("<textarea")[2].partition(">")[2].partition("</textarea>")[0]
    assert "<" not in shown
    assert unescape(shown) == report.text
    assert html.count("<input") == 1
    assert html.count('"') % 2 == 0


async def test_many_slow_reports_leave_visits_alone(fast: Wire, plain: Wire) -> None:
    """A form that never ends keeps its connection busy, nothing else."""
    half = post("/hello+", PHISHING)[:-5]
    slow = [asyncio.ensure_future(plain.say(half)) for _ in range(3)]
    assert (await fast.say(f"GET /hello HTTP/1.1\r\nHost: {HOST.decode()}\r\n\r\n".encode())).startswith(
        b"HTTP/1.1 302 "
    )
    for each in slow:
        each.cancel()
