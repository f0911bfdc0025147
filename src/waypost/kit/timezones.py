"""Names of time zones."""

from functools import cache
from zoneinfo import available_timezones

_NOT_ZONES = {"localtime", "Factory"}
"""The zone of the machine, and a placeholder."""


@cache
def zone_names() -> frozenset[str]:
    """Cached, because it reads directories."""
    return frozenset(available_timezones() - _NOT_ZONES)
