"""Lists that change while they are read."""

from collections.abc import Callable
from typing import Any

import httpx
from waypost_client import Waypost


class List:
    """Pixels, newest first, in pages."""

    def __init__(self, count: int) -> None:
        self.ids = [str(number) for number in range(count)]
        self.asked: list[str] = []

    def respond(self, request: httpx.Request) -> httpx.Response:
        page, size = int(request.url.params["page"]), int(request.url.params["per_page"])
        self.asked.append(request.url.params["page"])
        last = max(1, -(-len(self.ids) // size))
        found = self.ids[(page - 1) * size : page * size]
        meta = {"current_page": page, "last_page": last, "per_page": size, "total": len(self.ids)}
        return httpx.Response(200, json={"data": [{"id": each} for each in found], "meta": meta})


def read(pixels: List, on_each: Callable[[str], Any] = lambda _: None, **options: int) -> list[str]:
    found = []
    with httpx.Client(transport=httpx.MockTransport(pixels.respond)) as http:
        for pixel in Waypost("https://go.example.com", "key", http_client=http).pixels.list(**options):
            found.append(pixel.id)
            on_each(pixel.id)
    return found


def test_reads_all_pages_and_no_more() -> None:
    pixels = List(7)
    assert read(pixels, per_page=3) == pixels.ids
    assert pixels.asked == ["1", "2", "3"]
    assert (read(List(0)), read(List(3), per_page=3)) == ([], ["0", "1", "2"])


def test_begins_with_the_page_that_was_asked_for() -> None:
    assert read(List(7), per_page=3, page=2) == ["3", "4", "5", "6"]


def test_what_is_deleted_meanwhile_leaves_nothing_out() -> None:
    for size in (1, 2, 3, 10):
        pixels = List(23)
        assert read(pixels, pixels.ids.remove, per_page=size) == [str(number) for number in range(23)]
        assert pixels.ids == []


def test_what_is_deleted_now_and_then_leaves_nothing_out() -> None:
    pixels = List(50)
    assert read(pixels, lambda id_: int(id_) % 3 or pixels.ids.remove(id_), per_page=4) == [str(n) for n in range(50)]


def test_what_is_added_meanwhile_returns_nothing_twice() -> None:
    pixels = List(9)
    added = iter(["new 1", "new 2", "new 3"])
    assert read(pixels, lambda _: pixels.ids.insert(0, next(added, "")) or None, per_page=2)[:9] == [
        str(number) for number in range(9)
    ]


def test_pages_have_the_position() -> None:
    with httpx.Client(transport=httpx.MockTransport(List(7).respond)) as http:
        pixels = Waypost("https://go.example.com", "key", http_client=http).pixels.list(per_page=3)
        assert [(page.meta.current_page, page.meta.total, len(page.data)) for page in pixels.pages()] == [
            (1, 7, 3),
            (2, 7, 3),
            (3, 7, 1),
        ]
