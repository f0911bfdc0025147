"""The form "Create link" with what browsers and other apps share: the bookmarklet, and the installed dashboard."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest
from browsing import WebApp

from waypost.accounts.model import people
from waypost.accounts.sign_in import passwords
from waypost.resources.links.form.fields import find_web_url
from waypost.web.dashboard import error_pages

HOSTILE = """"><script>harm()</script>"""


def shared(**texts: str) -> str:
    return f"/links/new?{urlencode(texts)}"


def value(page: str, name: str) -> str:
    [found] = re.findall(rf'<input id="{name}" [^>]*?value="([^"]*)"', page)
    return unescape(found)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.com/a?b=c&d=%20#e", "https://example.com/a?b=c&d=%20#e"),
        ("https://example.com/a.", "https://example.com/a."),
        ("Look at this: https://example.com/a.", "https://example.com/a"),
        ("A title\nhttps://example.com/a", "https://example.com/a"),
        ("HTTPS://EXAMPLE.COM/ http://second.example/", "HTTPS://EXAMPLE.COM/"),
        ("(see https://example.com/a_(b))", "https://example.com/a_(b)"),
        ("(see https://example.com/a)", "https://example.com/a"),
        ("(see (https://example.com/a_(b).).)", "https://example.com/a_(b)"),
        ("see https://example.com/a(b( now", "https://example.com/a(b("),
        ("see https://example.com/" + ")." * 30_000, "https://example.com/"),
        ("“https://example.com/a”", "https://example.com/a"),
        ("<https://example.com/a>", "https://example.com/a"),
        ("https://web.archive.org/web/1/https://example.com/", "https://web.archive.org/web/1/https://example.com/"),
        ("https://bücher.example/ä?q=ö", "https://bücher.example/ä?q=ö"),
        ("example.com/a", ""),
        ("xhttps://example.com", ""),
        ("javascript:alert(1)", ""),
        ("https:// ", ""),
        ("", ""),
    ],
)
def test_finds_the_first_web_address_of_a_text(text: str, url: str) -> None:
    assert find_web_url(text) == url


@pytest.mark.parametrize(
    ("texts", "destination", "title"),
    [
        ({"url": "https://a.example/", "title": "A"}, "https://a.example/", "A"),
        ({"url": "https://a.example/", "text": "https://b.example/"}, "https://a.example/", ""),
        ({"title": "A", "text": "A https://b.example/x", "url": ""}, "https://b.example/x", "A"),
        ({"title": "https://c.example/", "text": "words"}, "https://c.example/", ""),
        ({"url": " example.com/a ", "title": " A "}, "example.com/a", "A"),
        ({"text": "only words"}, "only words", ""),
        ({"url": "javascript:alert(1)"}, "javascript:alert(1)", ""),
        ({"url": HOSTILE, "title": HOSTILE}, HOSTILE, HOSTILE),
        ({}, "", ""),
    ],
)
async def test_fills_the_form_and_creates_nothing(
    place: WebApp, texts: dict[str, str], destination: str, title: str
) -> None:
    ada = await place.browser("ada@example.com")
    page = (await ada.get(shared(**texts))).text
    assert (value(page, "destination_url"), value(page, "title")) == (destination, title)
    assert "<script>harm()" not in page
    assert "No links yet" in (await ada.get("/links")).text


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ({"url": "javascript:alert(1)"}, "http"),
        ({"url": "https://example.com/" + "a" * 10_000}, "2,048"),
        ({"url": "https://example.com/", "title": "W" * 10_000}, "255"),
        ({"text": "only words"}, "URL"),
    ],
)
async def test_the_form_refuses_what_no_link_can_have(place: WebApp, texts: dict[str, str], problem: str) -> None:
    ada = await place.browser("ada@example.com")
    page = (await ada.get(shared(**texts))).text
    fields = {name: value(page, name) for name in ("destination_url", "title")}
    refused = await ada.post("/links/new", fields)
    assert refused.status_code == 422
    assert any(problem in error for error in re.findall(r'<p class="error"[^>]*>([^<]*)', refused.text))


async def test_members_who_may_not_create_links_are_refused(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    viewer = await place.member("vic@example.com", ada.account, "viewer")
    for path in (shared(url="https://example.com/"), "/integrations"):
        refused = await viewer.get(path)
        assert (refused.status_code, "your role in the account" in refused.text) == (403, True)


async def test_signing_in_leads_back_to_the_filled_form(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.person
    hashed = await passwords.hash_password("correct horse battery")
    async with place.db.write() as tx:
        await tx.execute(people.update().values(password_hash=hashed))
    visitor = await place.browser()
    path = shared(title="Ä & B", text="https://example.com/../x?a=b&c=d#e", url="")
    sign_in = (await visitor.get(path)).headers["location"]
    page = (await visitor.get(sign_in)).text
    following, *_ = re.findall(r'name="next" value="([^"]*)"', page)
    fields = {"email": "ada@example.com", "password": "correct horse battery", "next": unescape(following)}
    signed_in = await visitor.post("/login", fields)
    form = (await visitor.get(signed_in.headers["location"])).text
    assert (value(form, "destination_url"), value(form, "title")) == ("https://example.com/../x?a=b&c=d#e", "Ä & B")


async def test_signing_in_forgets_what_is_too_long_for_a_redirect(place: WebApp) -> None:
    visitor = await place.browser()
    for count, is_kept in ((error_pages._MAX_QUERY - len("url="), True), (error_pages._MAX_QUERY, False)):
        answer = await visitor.get(f"/links/new?url={'a' * count}")
        assert ("%3Furl%3D" in answer.headers["location"]) is is_kept


async def test_the_bookmarklet_is_on_the_page(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    page = unescape((await ada.get("/integrations")).text)
    assert f'href="javascript:void open("{place.settings.base_url}/links/new?url="' in page
    assert 'href="/integrations"' in (await ada.get("/integrations/api")).text
