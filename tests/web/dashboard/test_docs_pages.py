"""The documentation that the service shows: complete, without broken links, and with nothing from other hosts."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from architecture.code import ROOT
from starlette.applications import Starlette
from starlette.responses import Response

from docs_site import check
from waypost.accounts.limits.file_limiter import FileLimiters
from waypost.database import Database
from waypost.kit.clock import now
from waypost.kit.errors import NotFound
from waypost.settings import Settings
from waypost.web.dashboard import Assets, SessionAuth, Views
from waypost.web.dashboard.docs_pages import PATH, DocsPages
from waypost.web.dashboard.documentation import PAGES
from waypost.web.dashboard.views import HEADERS

BASE_URL = "http://app.test"
DOCS = ROOT / "docs"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    db, limiters = Database(f"sqlite:///{tmp_path}/unused.db"), FileLimiters(tmp_path)
    auth = SessionAuth(db, limiters, base_url=BASE_URL, trusted=(), clock=now)
    views = Views({}, Assets(), base_url=BASE_URL, docs_url=PATH, clock=now)
    handlers = {NotFound: lambda *_: Response(status_code=404)}
    app = Starlette(routes=DocsPages(auth, views).endpoints(), exception_handlers=handlers)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE_URL) as client:
        yield client
    await limiters.close()
    await db.close()


def url_of(file: Path) -> str:
    name = file.relative_to(DOCS).as_posix()
    return PATH + re.sub(r"(^|/)index/$", r"\1", re.sub(r"\.md$", "/", name))


async def test_every_page_and_image_is_shown_and_no_link_is_broken(client: httpx.AsyncClient, tmp_path: Path) -> None:
    files = [path for path in DOCS.rglob("*") if path.suffix in {".md", ".png", ".svg"}]
    assert len(files) > 100
    for file in files:
        answer = await client.get(url_of(file))
        assert answer.status_code == 200, file
        if file.suffix == ".md":
            assert "style=" not in answer.text, "the policy of pages forbids it"
            assert answer.headers.items() >= {name.lower(): value for name, value in HEADERS.items()}.items()
        else:
            assert answer.content == file.read_bytes()
        copy = tmp_path / url_of(file).removeprefix(PATH)
        copy = copy / "index.html" if file.suffix == ".md" else copy
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(answer.content)
    assert check.problems(tmp_path, BASE_URL + PATH) == []


async def test_the_dashboard_links_to_pages_that_exist(client: httpx.AsyncClient) -> None:
    assert Settings().docs_url == PATH
    for _, link in PAGES:
        page = urlsplit(PATH + link)
        answer = await client.get(page.path)
        assert answer.status_code == 200, link
        assert not page.fragment or f'id="{page.fragment}"' in answer.text


async def test_links_lead_to_pages_here_and_to_the_repository_for_other_files(client: httpx.AsyncClient) -> None:
    page = (await client.get(f"{PATH}get-started/installation/")).text
    assert f'href="{PATH}operate/accounts/#the-owner"' in page
    assert 'href="https://github.com/waypost/waypost/blob/main/CONTRIBUTING.md"' in page


@pytest.mark.parametrize("path", ["unknown/", "..%2fREADME/", "%2e%2e/pyproject.toml", "assets/site.css", "guides/"])
async def test_nothing_else_is_shown(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(PATH + path)).status_code == 404


@pytest.mark.parametrize(
    ("typed", "page"),
    [
        ("forgot password", "guides/answers/#i-forgot-my-password"),
        ("reset password", "guides/answers/#i-forgot-my-password"),
        ("Phone lost", "guides/answers/#i-lost-my-phone"),
        ("2fa", "guides/two-factor/"),
        ("print sizes", "guides/qr-codes/#print-sizes"),
        ("offline", "operate/without-internet/"),
        ("proxy", "operate/without-internet/#behind-a-proxy"),
        ("logo in QR code", "guides/answers/#my-qr-code-with-a-logo-does-not-scan"),
        ("uninstall", "guides/answers/#how-do-i-uninstall-waypost"),
        ("logo", "guides/answers/#my-qr-code-with-a-logo-does-not-scan"),
        ("WAYPOST_BASE_URL", "operate/settings/"),
        ("languages", "guides/answers/#which-languages-does-it-have"),
        ("reset password xylophone", "guides/answers/#i-forgot-my-password"),
    ],
)
async def test_search_finds_what_people_type(client: httpx.AsyncClient, typed: str, page: str) -> None:
    found = await searched(client, typed)
    assert found[0] == PATH + page
    decisions = [link.startswith((f"{PATH}adr/", f"{PATH}design/")) for link in found]
    assert decisions == sorted(decisions)


async def test_what_is_searched_is_shown_as_it_was_typed_and_may_find_nothing(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{PATH}search", params={"q": "<b>xylophone</b>" + " x" * 1000})
    assert answer.status_code == 200
    assert "Nothing is found" in answer.text
    assert "<b>xylophone" not in answer.text
    assert await searched(client, "") == []
    assert await searched(client, "___ _") == []


async def test_what_is_found_shows_the_text_around_it(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{PATH}search", params={"q": "uninstall"})
    assert "<small>Take your links and clicks with you first. Then stop the service" in answer.text
    assert "How do I uninstall Waypost?</a> · Answers<br>" in answer.text


async def test_anchors_of_found_sections_exist(client: httpx.AsyncClient) -> None:
    for link in {
        link for word in ("domain", "link", "settings", "waypost", "api") for link in await searched(client, word)
    }:
        page, _, anchor = link.partition("#")
        assert not anchor or f'id="{anchor}"' in (await client.get(page)).text, link


async def searched(client: httpx.AsyncClient, text: str) -> list[str]:
    answer = await client.get(f"{PATH}search", params={"q": text})
    return re.findall(r'<p><a href="([^"]+)"', answer.text)
