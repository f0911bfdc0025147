"""Turns the lines of a batch into rows: all of a batch that needs no database. Runs in a thread."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from waypost.redirect.spool import Visit, decode
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.intake.steps import IntakeSettings, build_click
from waypost.resources.clicks.model import Click
from waypost.resources.clicks.stats.aggregate import Aggregate


@dataclass(frozen=True, slots=True)
class WebhookCounts:
    """The number of an account's webhooks for each event of a visit."""

    link_clicked: int
    pixel_fired: int


@dataclass(frozen=True, slots=True)
class Work:
    lines: list[bytes]
    accounts: Mapping[bytes, bytes]
    """By link, both as bytes: hexadecimal, and binary."""
    webhook_counts: Mapping[bytes, WebhookCounts]
    """By account."""
    max_deliveries: float
    """To webhooks and platforms: the batch ends before the visit that has too many."""
    dialect: str | None
    """Of the database that stores the clicks. None for ClickHouse, which counts by itself."""


@dataclass(slots=True)
class Enriched:
    clicks: list[Click] = field(default_factory=list)
    lines: int = 0
    """So many of the lines became clicks or were skipped."""
    orphaned: int = 0
    """Visits of links that never existed."""
    damaged: int = 0
    """Lines, by a full disk or a crash of the machine."""
    errors: set[str] = field(default_factory=set)
    """Internal ones, by type: the text can contain what the visitor sent."""
    encoded: write.Encoded = b""
    statistics: write.Prepared | None = None
    """Both of the clicks."""


def enrich(work: Work, settings: IntakeSettings) -> Enriched:
    result = _build_clicks(work, settings)
    if work.dialect:
        result.encoded = write.encode(work.dialect, result.clicks)
        result.statistics = write.prepare(work.dialect, Aggregate.of(result.clicks))
    return result


def _build_clicks(work: Work, settings: IntakeSettings) -> Enriched:
    result, deliveries = Enriched(lines=len(work.lines)), 0
    for number, visit in enumerate(_decoded(work.lines, result)):
        account = work.accounts.get(visit.link) if visit else None
        if visit is None or account is None:
            result.orphaned += visit is not None
            continue
        deliveries += _count_deliveries(visit, work.webhook_counts.get(account))
        if deliveries > work.max_deliveries:
            result.lines = number
            break
        try:
            result.clicks.append(build_click(visit, account, settings))
        except (ValueError, OverflowError):
            result.damaged += 1
        except Exception as error:  # noqa: BLE001  # one line must not block all lines after it
            result.damaged += 1
            result.errors.add(type(error).__name__)
    return result


def _decoded(lines: Iterable[bytes], result: Enriched) -> Iterable[Visit | None]:
    for line in lines:
        visit = decode(line)
        result.damaged += bool(line) and visit is None
        yield visit


def _count_deliveries(visit: Visit, webhooks: WebhookCounts | None) -> int:
    pixels = visit.pixels.count(b",") + 1 if visit.pixels else 0
    return pixels + (webhooks.link_clicked + webhooks.pixel_fired * pixels if webhooks else 0)
