"""Limits on requests in flight."""

from waypost.kit.ids import new_id
from waypost.resources.pixels.events.queue import MAX_IN_FLIGHT, MAX_IN_FLIGHT_PER_PLATFORM, QueuedPixel, RequestSlots


def queued_pixel(platform: str = "facebook", attempt: int = 1) -> QueuedPixel:
    return QueuedPixel(new_id(), new_id(), platform, attempt)


def test_limits_requests_per_platform_and_in_total() -> None:
    slots = RequestSlots([])
    taken = {
        name: sum(slots.take(queued_pixel(name)) for _ in range(20)) for name in ("facebook", "tiktok", "pinterest")
    }
    assert taken == {
        "facebook": MAX_IN_FLIGHT_PER_PLATFORM,
        "tiktok": MAX_IN_FLIGHT - MAX_IN_FLIGHT_PER_PLATFORM,
        "pinterest": 0,
    }


def test_counts_requests_in_flight() -> None:
    slots = RequestSlots([queued_pixel() for _ in range(MAX_IN_FLIGHT_PER_PLATFORM)])
    assert not slots.take(queued_pixel())
    assert slots.take(queued_pixel("tiktok"))


def test_limits_an_account_to_one_request() -> None:
    account = new_id()
    slots = RequestSlots([QueuedPixel(new_id(), account, "facebook", 1)])
    assert not slots.take(QueuedPixel(new_id(), account, "tiktok", 1))
    assert slots.take(queued_pixel())


def test_retries_share_half_of_a_platform_s_slots() -> None:
    slots = RequestSlots([])
    assert (
        sum(slots.take(queued_pixel(attempt=2)) for _ in range(MAX_IN_FLIGHT_PER_PLATFORM))
        == MAX_IN_FLIGHT_PER_PLATFORM // 2
    )
    assert slots.take(queued_pixel("tiktok", attempt=2))
    assert sum(slots.take(queued_pixel()) for _ in range(MAX_IN_FLIGHT_PER_PLATFORM)) == MAX_IN_FLIGHT_PER_PLATFORM // 2
