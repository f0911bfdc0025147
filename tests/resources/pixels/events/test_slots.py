"""Who may have a request under way."""

from waypost.kit.ids import new_id
from waypost.resources.pixels.events.queue import AT_MOST, OF_PLATFORM, QueuedPixel, RequestSlots


def turn(platform: str = "facebook", attempt: int = 1) -> QueuedPixel:
    return QueuedPixel(new_id(), new_id(), platform, attempt)


def test_some_of_each_platform_and_some_in_all() -> None:
    places = RequestSlots([])
    taken = {name: sum(places.take(turn(name)) for _ in range(20)) for name in ("facebook", "tiktok", "pinterest")}
    assert taken == {"facebook": OF_PLATFORM, "tiktok": AT_MOST - OF_PLATFORM, "pinterest": 0}


def test_those_under_way_count() -> None:
    places = RequestSlots([turn() for _ in range(OF_PLATFORM)])
    assert not places.take(turn())
    assert places.take(turn("tiktok"))


def test_one_of_each_account() -> None:
    account = new_id()
    places = RequestSlots([QueuedPixel(new_id(), account, "facebook", 1)])
    assert not places.take(QueuedPixel(new_id(), account, "tiktok", 1))
    assert places.take(turn())


def test_what_failed_before_shares_half() -> None:
    places = RequestSlots([])
    assert sum(places.take(turn(attempt=2)) for _ in range(OF_PLATFORM)) == OF_PLATFORM // 2
    assert places.take(turn("tiktok", attempt=2))
    assert sum(places.take(turn()) for _ in range(OF_PLATFORM)) == OF_PLATFORM // 2
