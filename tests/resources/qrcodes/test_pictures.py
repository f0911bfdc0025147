"""Pictures are drawn once, off the event loop, and no more of them are kept and waited for than there is room."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from waypost.kit.errors import Unavailable
from waypost.kit.ids import new_id
from waypost.resources.qrcodes.pictures import Picture, Pictures

ANY = new_id()


class Pen:
    """Draws ten bytes of each picture when it is let."""

    def __init__(self) -> None:
        self.drawn: list[str] = []
        self.threads: set[int] = set()
        self.may_draw = threading.Event()

    def draw(self, picture: Picture) -> bytes:
        assert self.may_draw.wait(60)
        self.threads.add(threading.get_ident())
        self.drawn.append(picture.text)
        if picture.text == "broken":
            raise ZeroDivisionError
        return picture.text.ljust(10).encode()


@pytest.fixture
def pen() -> Iterator[Pen]:
    pen = Pen()
    yield pen
    pen.may_draw.set()


def picture(text: str) -> Picture:
    return Picture(text, "000000-ffffff-M-squares-512-4", "png")


async def test_it_works(pen: Pen) -> None:
    pictures = Pictures(draw=pen.draw)
    asked = [asyncio.create_task(pictures.content(picture(text), account=ANY)) for text in "abab"]
    await asyncio.sleep(0)
    pen.may_draw.set()
    assert [content.strip() for content in await asyncio.gather(*asked)] == [b"a", b"b", b"a", b"b"]
    assert (await pictures.content(picture("a"), account=ANY)).strip() == b"a"
    assert pen.drawn == ["a", "b"]
    assert len(pen.threads - {threading.get_ident()}) == 1
    pictures.close()


async def test_who_goes_away_leaves_the_others_their_picture(pen: Pen) -> None:
    pictures = Pictures(draw=pen.draw)
    first, second = (asyncio.create_task(pictures.content(picture("a"), account=ANY)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    pen.may_draw.set()
    assert (await second).strip() == b"a"
    assert (await pictures.content(picture("a"), account=ANY)).strip() == b"a"
    assert pen.drawn == ["a"]
    pictures.close()


async def test_who_would_wait_too_long_is_sent_away(pen: Pen) -> None:
    pictures = Pictures(waiting=1, draw=pen.draw)
    asked = [asyncio.create_task(pictures.content(picture(text), account=ANY)) for text in "ab"]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await pictures.content(picture("c"), account=ANY)
    joined = asyncio.create_task(pictures.content(picture("a"), account=ANY))
    await asyncio.sleep(0)
    pen.may_draw.set()
    await asyncio.gather(*asked, joined)
    assert (await pictures.content(picture("c"), account=ANY)).strip() == b"c"
    pictures.close()


async def test_accounts_take_turns(pen: Pen) -> None:
    """R30: a hundred pictures of one account let another's through after the one at hand."""
    pictures = Pictures(draw=pen.draw)
    greedy = [asyncio.create_task(pictures.content(picture(f"greedy {n}"), account=ANY)) for n in range(100)]
    await asyncio.sleep(0)
    modest = asyncio.create_task(pictures.content(picture("modest"), account=new_id()))
    await asyncio.sleep(0)
    pen.may_draw.set()
    await asyncio.gather(*greedy, modest)
    assert pen.drawn.index("modest") == 1
    pictures.close()


async def test_the_longest_unseen_goes_first(pen: Pen) -> None:
    pen.may_draw.set()
    pictures = Pictures(limit=25, draw=pen.draw)
    for text in ("a", "b", "a", "c", "a", "b"):
        await pictures.content(picture(text), account=ANY)
    assert pen.drawn == ["a", "b", "c", "b"]
    pictures.close()


async def test_what_could_not_be_drawn_is_tried_again(pen: Pen) -> None:
    pen.may_draw.set()
    pictures = Pictures(waiting=1, draw=pen.draw)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await pictures.content(picture("broken"), account=ANY)
    assert pen.drawn == ["broken", "broken"]
    pictures.close()


async def test_at_the_end_who_waits_is_let_go(pen: Pen) -> None:
    pictures = Pictures(draw=pen.draw)
    asked = [asyncio.create_task(pictures.content(picture(text), account=ANY)) for text in "ab"]
    while not pictures._queue._lines:
        await asyncio.sleep(0)
    pictures.close()
    pen.may_draw.set()
    first, second = await asyncio.gather(*asked, return_exceptions=True)
    assert (first, isinstance(second, asyncio.CancelledError)) == (b"a".ljust(10), True)
