"""Images are drawn once, off the event loop. Cache and queue have limits."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from waypost.kit.errors import Unavailable
from waypost.kit.ids import new_id
from waypost.resources.domains.logos.model import Logo
from waypost.resources.qrcodes import image_cache
from waypost.resources.qrcodes.image_cache import CodeImage, ImageCache

ANY = new_id()


class Pen:
    """Draws ten bytes of each image when it is let."""

    def __init__(self) -> None:
        self.drawn: list[str] = []
        self.threads: set[int] = set()
        self.may_draw = threading.Event()

    def draw(self, image: CodeImage, _: bytes | None) -> bytes:
        assert self.may_draw.wait(60)
        self.threads.add(threading.get_ident())
        self.drawn.append(image.text)
        if image.text == "broken":
            raise ZeroDivisionError
        return image.text.ljust(10).encode()


@pytest.fixture
def pen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pen]:
    pen = Pen()
    monkeypatch.setattr(image_cache, "draw_image", pen.draw)
    yield pen
    pen.may_draw.set()


def image(text: str) -> CodeImage:
    return CodeImage(text, "000000-ffffff-M-squares-512-4", "png")


async def test_draws_each_image_once(pen: Pen) -> None:
    images = ImageCache()
    asked = [asyncio.create_task(images.get_or_draw(image(text), account=ANY)) for text in "abab"]
    await asyncio.sleep(0)
    pen.may_draw.set()
    assert [content.strip() for content in await asyncio.gather(*asked)] == [b"a", b"b", b"a", b"b"]
    assert (await images.get_or_draw(image("a"), account=ANY)).strip() == b"a"
    assert pen.drawn == ["a", "b"]
    assert len(pen.threads - {threading.get_ident()}) == 1
    images.close()


async def test_a_cancelled_caller_leaves_the_image_to_others(pen: Pen) -> None:
    images = ImageCache()
    first, second = (asyncio.create_task(images.get_or_draw(image("a"), account=ANY)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    pen.may_draw.set()
    assert (await second).strip() == b"a"
    assert (await images.get_or_draw(image("a"), account=ANY)).strip() == b"a"
    assert pen.drawn == ["a"]
    images.close()


async def test_rejects_callers_beyond_the_waiting_limit(pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_cache, "_WAITING", 1)
    images = ImageCache()
    asked = [asyncio.create_task(images.get_or_draw(image(text), account=ANY)) for text in "ab"]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await images.get_or_draw(image("c"), account=ANY)
    joined = asyncio.create_task(images.get_or_draw(image("a"), account=ANY))
    await asyncio.sleep(0)
    pen.may_draw.set()
    await asyncio.gather(*asked, joined)
    assert (await images.get_or_draw(image("c"), account=ANY)).strip() == b"c"
    images.close()


async def test_draws_for_accounts_in_turn(pen: Pen) -> None:
    """R30: a hundred images of one account let another's through after the one at hand."""
    images = ImageCache()
    greedy = [asyncio.create_task(images.get_or_draw(image(f"greedy {n}"), account=ANY)) for n in range(100)]
    await asyncio.sleep(0)
    modest = asyncio.create_task(images.get_or_draw(image("modest"), account=new_id()))
    await asyncio.sleep(0)
    pen.may_draw.set()
    await asyncio.gather(*greedy, modest)
    assert pen.drawn.index("modest") == 1
    images.close()


async def test_evicts_the_least_recently_used_image(pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    pen.may_draw.set()
    monkeypatch.setattr(image_cache, "_MAX_BYTES", 25)
    monkeypatch.setattr(image_cache, "_ENTRY_BYTES", 0)
    images = ImageCache()
    for text in ("a", "b", "a", "c", "a", "b"):
        await images.get_or_draw(image(text), account=ANY)
    assert pen.drawn == ["a", "b", "c", "b"]
    images.close()


async def test_retries_a_failed_drawing(pen: Pen) -> None:
    pen.may_draw.set()
    images = ImageCache()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await images.get_or_draw(image("broken"), account=ANY)
    assert pen.drawn == ["broken", "broken"]
    images.close()


async def test_close_cancels_waiting_callers(pen: Pen) -> None:
    images = ImageCache()
    asked = [asyncio.create_task(images.get_or_draw(image(text), account=ANY)) for text in "ab"]
    while not images._queue._queues:
        await asyncio.sleep(0)
    images.close()
    pen.may_draw.set()
    first, second = await asyncio.gather(*asked, return_exceptions=True)
    assert (first, isinstance(second, asyncio.CancelledError)) == (b"a".ljust(10), True)


async def test_never_caches_a_code_without_its_logo(pen: Pen) -> None:
    """A logo may be replaced while its code waits to be drawn."""
    pen.may_draw.set()
    images, contents = ImageCache(), [None, b"PNG"]
    drawing = replace(image("a"), logo=Logo(ANY, "a.png", 20, 20, None, datetime.now(UTC)))

    async def read_logo(_: str) -> bytes | None:
        return contents.pop(0)

    with pytest.raises(Unavailable):
        await images.get_or_draw(drawing, account=ANY, read_logo=read_logo)
    assert (await images.get_or_draw(drawing, account=ANY, read_logo=read_logo)).strip() == b"a"
    assert (pen.drawn, contents) == (["a"], [])
    images.close()
