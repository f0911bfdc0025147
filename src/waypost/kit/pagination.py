"""One page of a list: the request, the items, and the total number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")

DEFAULT_PER_PAGE = 15
MAX_PER_PAGE = 100


@dataclass(frozen=True, slots=True)
class PageRequest:
    page: int = 1
    per_page: int = DEFAULT_PER_PAGE

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.per_page


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: Sequence[T]
    total: int
    request: PageRequest

    @property
    def last_page(self) -> int:
        return max(1, -(-self.total // self.request.per_page))

    def map(self, convert: Callable[[T], U]) -> "Page[U]":
        return Page([convert(item) for item in self.items], self.total, self.request)
