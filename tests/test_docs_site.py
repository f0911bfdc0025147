"""The documentation as it is built by `make docs`: without warnings, broken links, or anything from other hosts."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from architecture.code import ROOT
from browser.test_access import AXE, look
from browser.watching import launched
from playwright.async_api import Route

yaml = pytest.importorskip("yaml", reason="yaml is missing: make test installs it")
pytest.importorskip("zensical", reason="zensical is missing: make test installs it")

from docs_site import api_pages, check, tree  # noqa: E402
from docs_site.__main__ import build  # noqa: E402
from waypost.web.dashboard import documentation  # noqa: E402

CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
SITE_URL = CONFIG["site_url"]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return api_pages.openapi()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]) -> Path:
    """The built site. Building fails with every warning and broken link."""
    output = tmp_path_factory.mktemp("docs") / "site"
    build(output, document)
    return output


def test_every_page_is_in_the_site_and_in_llms_txt(site: Path) -> None:
    listed = (site / "llms.txt").read_text()
    for path in (ROOT / "docs").rglob("*.md"):
        name = path.relative_to(ROOT / "docs")
        html = name.with_suffix(".html") if name.stem == "index" else name.with_suffix("") / "index.html"
        assert (site / html).is_file()
        assert f"({SITE_URL}{name})" in listed


def test_the_navigation_names_each_page_once() -> None:
    named = list(tree.paths(CONFIG["nav"]))
    assert [path for path in named if named.count(path) > 1] == []


def test_the_dashboard_links_to_existing_pages(site: Path) -> None:
    linked = [urlsplit(page) for _, page in documentation.PAGES]
    for page in linked:
        html = (site / page.path / "index.html").read_text()
        assert not page.fragment or f'id="{page.fragment}"' in html


def test_lists_every_endpoint(site: Path) -> None:
    page = (site / "reference" / "endpoints" / "links" / "index.html").read_text()
    assert 'id="links-create"' in page
    assert "destination_url" in page


def test_decision_records_are_not_searched_but_their_list_is(site: Path) -> None:
    searched = [each["location"] for each in json.loads((site / "search.json").read_text())["items"]]
    assert [location for location in searched if location.startswith("adr/")] == ["adr/"]
    assert "guides/answers/#i-forgot-my-password" in searched


async def test_pages_fit_a_phone_are_accessible_and_ask_no_other_host(site: Path) -> None:
    asked: list[str] = []

    async def serve(route: Route) -> None:
        asked.append(route.request.url)
        path = site / urlsplit(route.request.url).path.removeprefix(urlsplit(SITE_URL).path)
        path = path / "index.html" if path.is_dir() else path
        await (route.fulfill(path=path) if path.is_file() else route.abort())

    async with launched("--no-sandbox") as chromium:
        page = await chromium.new_page(viewport={"width": 390, "height": 800})
        await page.route("**/*", serve)
        await page.add_init_script(AXE)
        for path in ("", "comparison/", "operate/settings/", "operate/scaling/", "reference/endpoints/links/"):
            await page.goto(f"{SITE_URL}{path}", wait_until="load")
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
            assert await look(page) == [], path
    assert len(asked) > 10
    assert [url for url in asked if not url.startswith(SITE_URL)] == []


def test_diagrams_are_drawn_from_their_sources() -> None:
    sources = list((ROOT / "docs" / "diagrams").glob("*.dot"))
    assert len(sources) > 3
    for source in sources:
        digest = sha256(source.read_bytes()).hexdigest()[:16]
        assert f'data-source="{digest}"' in source.with_suffix(".svg").read_text(), "run: make diagrams"


def test_lists_keep_their_paragraphs() -> None:
    text = "1. One\n\n   ```\n   code\n   ```\n2. Two\n3. Three\n\n- a\n  - b\n\n```\n  as it is\n```\n  text\n"
    expected = (
        "1. One\n\n    ```\n    code\n    ```\n\n2. Two\n3. Three\n\n- a\n    - b\n\n```\n  as it is\n```\n  text\n"
    )
    assert tree.indent_by_four(text) == expected


def test_the_check_finds_broken_links_and_other_hosts(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "index.html").write_text('<h1 id="top">A</h1><a href="../b/">B</a><a href="#top">top</a>')
    (tmp_path / "index.html").write_text(
        '<a href="a/#top">A</a><a href="a/#gone">A</a><a href="https://">?</a><a href="https://other.example/x">B</a>'
        "<p>| a | b |\n|---|---|</p><code>```</code>"
        '<script src="https://cdn.example/x.js"></script><img src="a/x.png">'
    )
    (tmp_path / "site.css").write_text('@import "https://fonts.example/a.css";')
    assert check.problems(tmp_path, SITE_URL) == [
        "a/index.html: ../b/ is not found",
        "index.html: a/#gone has no such anchor",
        "index.html: https:// is no URL",
        "index.html: a/x.png is not found",
        "index.html: has Markdown that is not rendered",
        "index.html: loads https://cdn.example/x.js from another host",
        "site.css: loads from another host",
    ]
