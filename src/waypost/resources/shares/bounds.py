"""The time range that a visitor of a share sees: what they choose, within the limits of the share. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from waypost.kit.preferences import DEFAULT
from waypost.resources.clicks.dashboard import time_range
from waypost.resources.clicks.dashboard.time_range import StatsChoice
from waypost.resources.clicks.days import TimeRange
from waypost.resources.shares.model import Share

_MOMENT = timedelta(microseconds=1)


class NotStarted(Exception):
    """The time range of the share begins later."""


def choose(parameters: Mapping[str, str], share: Share, *, since: datetime, now: datetime) -> StatsChoice:
    """Return what the parameters of the page choose. Times until now are those until the end of the share.

    `since`: the beginning of all time, if the share has none. Raises NotStarted.
    """
    start, end = share.range_start, min(now, share.range_end or now)
    if start and start >= end:
        raise NotStarted
    choice = time_range.choose(parameters, DEFAULT, since=start or since, now=end, earliest=start)
    return replace(choice, is_until_now=choice.is_until_now and end == now)


def without_range(share: Share) -> Share:
    return replace(share, range_start=None, range_end=None)


def contains(share: Share, shown: TimeRange | None) -> bool:
    """Return whether nothing of a time range is outside of that of the share."""
    if shown is None:
        return True
    is_early = share.range_start is not None and shown.start < share.range_start
    return not is_early and (share.range_end is None or shown.end <= share.range_end)


def time_of_reading(share: Share, now: datetime) -> datetime:
    """Return the time at which statistics are read. Those until now have the clicks of clocks that are ahead, too.

    With an end, no time range is until now: no click after it is shown.
    """
    return now + _MOMENT if share.range_end else now
