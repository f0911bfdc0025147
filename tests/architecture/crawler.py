"""What a page offers: its links, its forms, and the requests that htmx sends."""

from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit


class Offer(NamedTuple):
    method: str
    url: str
    """Path and query."""
    is_fragment: bool = False
    """htmx requests it."""


class _Offers(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.found: set[Offer] = set()
        self._form: dict[str, str] = {}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attributes}
        if tag in {"a", "link"}:
            self._add("GET", of.get("href"))
        elif tag in {"img", "script"}:
            self._add("GET", of.get("src"))
        elif tag == "form":
            self._form = of
            self._add(of.get("method", "get").upper(), of.get("action", ""))
        elif tag == "button" and {"formaction", "formmethod"} & of.keys():
            method = of.get("formmethod", self._form.get("method", "get"))
            self._add(method.upper(), of.get("formaction", self._form.get("action", "")))
        for method in ("GET", "POST"):
            self._add(method, of.get(f"hx-{method.lower()}"), is_fragment=True)
        self._add("GET", of.get("data-live"))

    def _add(self, method: str, url: str | None, *, is_fragment: bool = False) -> None:
        if url is None or url.startswith(("#", "data:")):
            return
        parts = urlsplit(urljoin(self.url, url))
        if parts.scheme == "http" and parts.netloc == urlsplit(self.url).netloc:
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            self.found.add(Offer(method, path, is_fragment))


def offers_of(url: str, html: str) -> set[Offer]:
    """Return what the page at `url` offers on its own origin."""
    parser = _Offers(url)
    parser.feed(html)
    return parser.found
