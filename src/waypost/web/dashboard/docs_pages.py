"""The documentation as pages of this service: the files of docs/, which the package contains (ADR 33).

A page is rendered when it is first requested, one at a time, and then kept: requests for all of them cost little.
"""

import asyncio
import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import NotFound
from waypost.web.dashboard.docs_search import FoundPassage, Passage, anchor_of, passages, search
from waypost.web.dashboard.page_call import PageCall
from waypost.web.dashboard.pages import Pages
from waypost.web.dashboard.session_auth import SessionAuth
from waypost.web.dashboard.views import Views

PATH = "/help/"
_REPOSITORY = "https://github.com/waypost/waypost/blob/main/"
_SECTIONS = ("get-started", "guides", "operate", "reference")
_MAX_QUERY = 100
_PACKAGE = Path(__file__).parents[2]
_TYPES = {".md": "", ".png": "image/png", ".svg": "image/svg+xml"}
_IMAGE_HEADERS = {"Cache-Control": "public, max-age=3600"}


class _Page(NamedTuple):
    title: str
    html: str


class DocsPages(Pages[None]):
    def __init__(self, auth: SessionAuth, views: Views) -> None:
        super().__init__(None, auth, views)
        self._rendered: dict[str, _Page] = {}
        self._lock = asyncio.Lock()

    def endpoints(self) -> list[Route]:
        return [
            self.get(f"{PATH}search", self.search, "public"),
            self.get(f"{PATH}{{name:path}}", self.show, "public"),
        ]

    async def search(self, call: PageCall) -> Response:
        query = call.query("q")[:_MAX_QUERY]
        async with self._lock:
            found = await asyncio.to_thread(lambda: search(query, self._searched))
        return self._render_page(call, "search", None, query=query, found=found)

    async def show(self, call: PageCall) -> Response:
        name = call.request.path_params["name"].strip("/")
        file = self._files.get(name)
        if file is None:
            raise NotFound
        if media_type := _TYPES[file.suffix]:
            content = await asyncio.to_thread(file.read_bytes)
            return Response(content, media_type=media_type, headers=_IMAGE_HEADERS)
        async with self._lock:
            if name not in self._rendered:
                self._rendered[name] = await asyncio.to_thread(self._render, file)
        return self._render_page(call, name, self._rendered[name])

    def _render_page(
        self, call: PageCall, name: str, page: _Page | None, *, query: str = "", found: Sequence[FoundPassage] = ()
    ) -> Response:
        return call.render(
            "frame/docs.html", name=name, page=page, query=query, found=found, path=PATH, sections=self._sections
        )

    @cached_property
    def _root(self) -> Path:
        """Return docs/ of the package, as it is in wheels, or of the checkout."""
        inside = _PACKAGE / "docs"
        return inside if inside.is_dir() else _PACKAGE.parents[1] / "docs"

    @cached_property
    def _files(self) -> dict[str, Path]:
        """Pages and images by the path in their URL. Nothing else is served."""
        paths = (path for path in sorted(self._root.rglob("*")) if path.suffix in _TYPES)
        return {_name(path.relative_to(self._root).as_posix()): path for path in paths}

    @cached_property
    def _sections(self) -> list[tuple[str, str, list[tuple[str, str]]]]:
        """Directory and heading of each part of the navigation, with titles and paths of its pages."""
        headings = {directory: directory.replace("-", " ").capitalize() for directory in _SECTIONS}
        return [(directory, heading, sorted(self._titles_in(directory))) for directory, heading in headings.items()]

    @cached_property
    def _searched(self) -> list[Passage]:
        pages = ((name, file) for name, file in self._files.items() if file.suffix == ".md")
        return [each for name, file in pages for each in passages(name, file.read_text())]

    def _titles_in(self, directory: str) -> Iterator[tuple[str, str]]:
        for name, file in self._files.items():
            if name.startswith(f"{directory}/"):
                with file.open() as lines:
                    yield next(lines).removeprefix("# ").strip(), name

    def _render(self, file: Path) -> _Page:
        from markdown_it import MarkdownIt  # noqa: PLC0415  # only who reads the documentation needs it

        markdown = MarkdownIt("commonmark").enable("table")
        tokens = markdown.parse(file.read_text())
        title = tokens[1].content
        directory = file.parent.relative_to(self._root).as_posix()
        for token, following in zip(tokens, [*tokens[1:], None], strict=True):
            if token.type == "heading_open" and following:
                token.attrSet("id", anchor_of("".join(each.content for each in following.children or [])))
            if token.type == "table_open":  # it may be wider than a phone
                token.attrSet("tabindex", "0")
            if "style" in token.attrs:  # the alignment of a column, which the page's policy forbids as a style
                token.attrs = {"class": "number"}
            for inline in token.children or []:
                for attribute in ("href", "src"):
                    if link := inline.attrGet(attribute):
                        inline.attrSet(attribute, self._url(str(link), directory))
        return _Page(title, markdown.renderer.render(tokens, markdown.options, {}))

    def _url(self, link: str, directory: str) -> str:
        """Return the URL of a link of a page in `directory`."""
        path, hash_, anchor = link.partition("#")
        if not path or re.match(r"\w+:", path):
            return link
        target = posixpath.normpath(posixpath.join("docs", directory, path))
        name = _name(target.removeprefix("docs/"))
        is_here = target.startswith("docs/") and name in self._files
        return (f"{PATH}{name}{'/' * target.endswith('.md')}" if is_here else _REPOSITORY + target) + hash_ + anchor


def _name(path: str) -> str:
    return re.sub(r"(^|/)index$", "", path.removesuffix(".md"))
