"""Lists, which are read page by page while they are iterated.

Pages are numbered, newest first. Objects that are created or deleted during the iteration move the others to other
pages. Each object is returned once. None that stays is left out, unless others are created while as many are deleted:
deletions are noticed by the total.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from waypost_client.models import PageMeta


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


class _HasPath(Protocol):
    """Without an id: its path is unique in its list."""

    @property
    def path(self) -> str: ...


T = TypeVar("T", bound=_HasId | _HasPath)

PER_PAGE = 100
"""Objects in a page unless `per_page` is given: as many as the service allows."""


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list."""

    data: list[T]
    meta: PageMeta
    """Number of the page and of all objects."""


Query = Mapping[str, Any]


class _Position:
    """Which page comes next. Pure."""

    def __init__(self, query: Query) -> None:
        self._query = {**query, "per_page": query.get("per_page") or PER_PAGE}
        self._first = self._page = query.get("page") or 1
        self._total = 0
        self._seen: set[str] = set()
        self.is_at_end = False

    def query(self) -> Query:
        return {**self._query, "page": self._page}

    def is_too_late(self, meta: PageMeta) -> bool:
        """Go back if objects were deleted meanwhile: those behind them have moved to earlier pages."""
        gone, self._total = self._total - meta.total, meta.total
        if gone <= 0 or self._page == self._first:
            return False
        self._page = max(self._first, self._page - -(-gone // meta.per_page))
        return True

    def advance(self, page: Page[T]) -> list[T]:
        """Go to the next page, and return what is new in this one."""
        self.is_at_end = page.meta.current_page >= page.meta.last_page or not page.data
        self._page += 1
        new = [each for each in page.data if _key(each) not in self._seen]
        self._seen.update(map(_key, new))
        return new


def _key(each: Any) -> str:
    key: str = each.id if hasattr(each, "id") else each.path
    return key


class Pages(Generic[T]):
    """An iterator of all objects of a list. `pages()` iterates page by page instead."""

    def __init__(self, fetch: Callable[[Query], Page[T]], query: Query) -> None:
        self._fetch = fetch
        self._query = query
        self._objects = self._iterate()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        return next(self._objects)

    def pages(self) -> Iterator[Page[T]]:
        """Iterate the pages, from that of the argument `page`, as they are when they are read."""
        position = _Position(self._query)
        while not position.is_at_end:
            page = self._fetch(position.query())
            position.advance(page)
            yield page

    def _iterate(self) -> Iterator[T]:
        position = _Position(self._query)
        while not position.is_at_end:
            page = self._fetch(position.query())
            if not position.is_too_late(page.meta):
                yield from position.advance(page)


class AsyncPages(Generic[T]):
    """An asynchronous iterator of all objects of a list. `pages()` iterates page by page instead."""

    def __init__(self, fetch: Callable[[Query], Awaitable[Page[T]]], query: Query) -> None:
        self._fetch = fetch
        self._query = query
        self._objects = self._iterate()

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        return await anext(self._objects)

    async def pages(self) -> AsyncIterator[Page[T]]:
        """Iterate the pages, from that of the argument `page`, as they are when they are read."""
        position = _Position(self._query)
        while not position.is_at_end:
            page = await self._fetch(position.query())
            position.advance(page)
            yield page

    async def _iterate(self) -> AsyncIterator[T]:
        position = _Position(self._query)
        while not position.is_at_end:
            page = await self._fetch(position.query())
            if not position.is_too_late(page.meta):
                for each in position.advance(page):
                    yield each
