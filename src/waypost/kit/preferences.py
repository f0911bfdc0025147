"""How a person reads and enters times and numbers. Pages and emails format and read them with these alone. Pure.

A time that clocks skip is refused. Of two equal ones, when clocks go back, the first is meant, unless the form showed
the second.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from waypost.kit.clock import timestamp
from waypost.kit.errors import Unreadable
from waypost.kit.timezones import UTC_NAME, midnight, zone_choices, zone_names

NO_DATE = "Enter a date such as 2026-11-30."


class DateFormat(NamedTuple):
    """Formats of `strftime`."""

    day: str
    day_of_year: str
    month: str
    minute: str
    second: str
    separator: str


DATE_FORMATS: Mapping[str, DateFormat] = {
    "day_month": DateFormat("%-d %b %Y", "%-d %b", "%B %Y", "%H:%M", "%H:%M:%S", ", "),
    "month_day": DateFormat("%b %-d, %Y", "%b %-d", "%B %Y", "%-I:%M %p", "%-I:%M:%S %p", ", "),
    "iso": DateFormat("%Y-%m-%d", "%m-%d", "%Y-%m", "%H:%M", "%H:%M:%S", " "),
}
"""28 Nov 2026, 14:05 · Nov 28, 2026, 2:05 PM · 2026-11-28 14:05"""
NUMBER_FORMATS: Mapping[str, str] = {"comma": ",.", "point": ".,", "space": "\u202f,"}
"""The separators of thousands and of decimals: 1,234.5 · 1.234,5 · 1 234,5"""
_FIRST_DATE, _FIRST_NUMBER = next(iter(DATE_FORMATS)), next(iter(NUMBER_FORMATS))
_UNITS = ((1_000_000_000, "bn"), (1_000_000, "m"), (1_000, "k"))


@dataclass(frozen=True, slots=True)
class Preferences:
    timezone: str = UTC_NAME
    """A name that this machine knows."""
    date_format: str = _FIRST_DATE
    number_format: str = _FIRST_NUMBER

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @property
    def zone_name(self) -> str:
        return self.timezone.replace("_", " ")

    @property
    def separators(self) -> str:
        """Of thousands and of decimals."""
        return NUMBER_FORMATS[self.number_format]

    def in_zone(self, name: str) -> "Preferences":
        """Return them in a time zone. An unknown name changes nothing."""
        return replace(self, timezone=name) if name in zone_names() else self

    def choices(self, now: datetime) -> dict[str, list[tuple[str, str]]]:
        """Return what to choose from, by field: values, and what they look like."""
        zones = dict.fromkeys([self.timezone, *zone_choices()])
        return {
            "timezone": [(name, name.replace("_", " ")) for name in zones],
            "date_format": [(name, replace(self, date_format=name).time(now)) for name in DATE_FORMATS],
            "number_format": [(name, replace(self, number_format=name).number(1234.5, 1)) for name in NUMBER_FORMATS],
        }

    # ── times ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def local(self, at: datetime) -> datetime:
        try:
            return at.astimezone(self.zone)
        except OverflowError:  # in the first or last hours that there are
            return at

    def day(self, at: datetime | date, weekday: str = "") -> str:
        """28 Nov 2026"""
        return self._format(at, weekday + self._dates.day)

    def day_of_year(self, at: datetime | date, weekday: str = "") -> str:
        """28 Nov"""
        return self._format(at, weekday + self._dates.day_of_year)

    def month(self, at: datetime | date, *, is_short: bool = False) -> str:
        """November 2026; Nov 2026 if it `is_short`."""
        return self._format(at, self._dates.month.replace("%B", "%b") if is_short else self._dates.month)

    def minute(self, at: datetime) -> str:
        """14:05"""
        return self._format(at, self._dates.minute)

    def hour(self, hour: int) -> str:
        """18:00"""
        return time(hour % 24).strftime(self._dates.minute)

    def time(self, at: datetime) -> str:
        """28 Nov 2026, 14:05"""
        return f"{self.day(at)}{self._dates.separator}{self.minute(at)}"

    def zoned(self, at: datetime) -> str:
        """28 Nov 2026, 14:05 Europe/Berlin"""
        return f"{self.time(at)} {self.zone_name}"

    def second(self, at: datetime) -> str:
        """28 Nov 2026, 14:05:09"""
        return f"{self.day(at)}{self._dates.separator}{self._format(at, self._dates.second)}"

    def days(self, first: datetime | date, last: datetime | date, *, year: int | None = None) -> str:
        """24–30 Nov 2026; without the year if it is `year`."""  # noqa: RUF002
        one, other = self._date(first), self._date(last)
        shown = self.day_of_year if one.year == other.year == year else self.day
        if one == other:
            return shown(one)
        if self.date_format == _FIRST_DATE and (one.year, one.month) == (other.year, other.month):
            return f"{one.day}–{shown(other)}"  # noqa: RUF001
        start = self.day_of_year(one) if one.year == other.year and self.date_format == _FIRST_DATE else shown(one)
        return f"{start} – {shown(other)}"  # noqa: RUF001

    # ── fields of forms ─────────────────────────────────────────────────────────────────────────────────────────────

    def field(self, at: datetime | None) -> str:
        """Return the value of a field for date and time. Empty for None. Seconds only if there are any."""
        if at is None:
            return ""
        return self.local(at).replace(tzinfo=None).isoformat(timespec="seconds").removesuffix(":00")

    def read_field(self, text: str, shown: datetime | None = None) -> str | None:
        """Return a field as the API takes it, in UTC. Blank is None; the schema reports what is no time.

        `shown`: the time that the form showed, which an unchanged field means. A skipped time is Unreadable.
        """
        if not text.strip():
            return None
        try:
            local = datetime.fromisoformat(text.strip())
            if local.tzinfo is not None:
                return text
            if shown and self.field(shown) == self._field_text(local):
                return timestamp(shown)
            at = local.replace(tzinfo=self.zone).astimezone(UTC)
        except (ValueError, OverflowError):
            return text
        if (later := self.local(at)).replace(tzinfo=None) != local:
            skipped = f"Clocks in {self.zone_name} skip this time, because they go forward."
            return Unreadable(f"{skipped} Enter {self.minute(later)}, for example.")
        return timestamp(at)

    @staticmethod
    def _field_text(local: datetime) -> str:
        return local.isoformat(timespec="seconds").removesuffix(":00")

    def day_field(self, at: datetime | None) -> str:
        """Return the value of a field for a day. Empty for None."""
        return f"{self.local(at):%Y-%m-%d}" if at else ""

    def read_day(self, text: str) -> str | None:
        """Return when the day of a field begins, as the API takes it. Blank is None; the schema reports others."""
        try:
            return timestamp(self.midnight(date.fromisoformat(text)))
        except (ValueError, OverflowError):
            return text or None

    def midnight(self, day: date) -> datetime:
        """Return when the day begins."""
        return midnight(day, self.zone)

    # ── numbers ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def number(self, count: float, decimals: int = 0) -> str:
        """12,345"""
        return self._separate(f"{count:,.{decimals}f}")

    def percent(self, part: float) -> str:
        """12.3% for 0.123"""
        return self._separate(f"{part:.1%}")

    def short(self, count: int) -> str:
        """12.3k for 12,345"""
        for unit, sign in _UNITS:
            if count >= unit:
                return self._separate(f"{count / unit:.3g}{sign}" if count < 999.5 * unit else f"{count // unit}{sign}")
        return str(count)

    def _separate(self, text: str) -> str:
        return text.translate(str.maketrans(",.", self.separators))

    @property
    def _dates(self) -> DateFormat:
        return DATE_FORMATS[self.date_format]

    def _date(self, at: datetime | date) -> date:
        return self.local(at).date() if isinstance(at, datetime) else at

    def _format(self, at: datetime | date, form: str) -> str:
        return (self.local(at) if isinstance(at, datetime) else at).strftime(form)


DEFAULT = Preferences()
"""Of visitors, and of recipients without an account."""


@lru_cache(1_000)
def stored_preferences(timezone: str | None, date_format: str | None, number_format: str | None) -> Preferences:
    """Return the defaults for what is not chosen, and for what this version or this machine does not know."""
    return Preferences(
        timezone if timezone in zone_names() else UTC_NAME,
        date_format if date_format and date_format in DATE_FORMATS else _FIRST_DATE,
        number_format if number_format and number_format in NUMBER_FORMATS else _FIRST_NUMBER,
    )
