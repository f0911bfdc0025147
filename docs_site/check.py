"""Checks a built site: every link and anchor leads somewhere, and nothing is loaded from other hosts."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

_LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("source", "srcset")}
_LOADED_LINKS = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "modulepreload"}
_CODE = {"pre", "code", "script", "style"}
_MARKDOWN = re.compile(r"^\s*(?:```|\|[-:|\s]+\||#{1,6} \w)|\]\(", re.MULTILINE)
_OUTSIDE = re.compile(r"https?://[\w.-]+\w(?::\d+)?(?:[/?#]\S*)?$|mailto:\S+@\S+$|data:")
_IN_CSS = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//")


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.is_broken = False
        self._code = 0
        self.feed(text)

    def handle_data(self, data: str) -> None:
        self.is_broken |= not self._code and bool(_MARKDOWN.search(data))

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in _CODE

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code += tag in _CODE
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and _LOADED_LINKS & set(given.get("rel", "").split()):
            self.loaded.append(given["href"])
        self.loaded += [given[name] for kind, name in _LOADED if kind == tag and name in given]


def problems(site: Path, site_url: str) -> list[str]:
    """Return what is broken, one line each."""
    pages = {path: _Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    found: list[str] = []
    for path, page in pages.items():
        name = path.relative_to(site)
        if name.name == "404.html":  # shown at any path, so its links are absolute
            continue
        found += [f"{name}: {each}" for each in _broken(site, site_url, path, page, pages)]
        found += [f"{name}: has Markdown that is not rendered"] if page.is_broken else []
        found += [f"{name}: loads {each} from another host" for each in page.loaded if urlsplit(each).netloc]
    found += [
        f"{path.relative_to(site)}: loads from another host"
        for path in sorted(site.rglob("*.css"))
        if _IN_CSS.search(path.read_text())
    ]
    return found


def _broken(site: Path, site_url: str, path: Path, page: _Page, pages: dict[Path, _Page]) -> Iterator[str]:
    own = urljoin(site_url, path.relative_to(site).as_posix())
    for link in [*page.links, *page.loaded]:
        if re.match(r"[a-z]+:", link) and not _OUTSIDE.match(link):
            yield f"{link} is no URL"
        target = urlsplit(urljoin(own, link))
        if not target.geturl().startswith(site_url):
            continue
        meant = site / unquote(target.path).removeprefix(urlsplit(site_url).path)
        if meant.is_dir():
            meant /= "index.html"
        if not meant.is_file():
            yield f"{link} is not found"
        elif target.fragment and meant in pages and unquote(target.fragment) not in pages[meant].ids:
            yield f"{link} has no such anchor"
