"""Turns the lines of a batch into clicks: all of a batch that needs no database. Runs in a thread."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from waypost.redirect.spool import Visit, decode
from waypost.resources.clicks.intake.build import IntakeSettings, build_click
from waypost.resources.clicks.model import Click


@dataclass(frozen=True, slots=True)
class WebhookCounts:
    """The number of an account's webhooks for each event of a visit."""

    link_clicked: int
    pixel_fired: int


@dataclass(slots=True)
class Enriched:
    clicks: list[Click] = field(default_factory=list)
    lines: int = 0
    """So many of the lines became clicks or were skipped."""
    unknown_links: int = 0
    """Visits of links that never existed."""
    damaged: int = 0
    """Lines, by a full disk or a crash of the machine."""
    errors: set[str] = field(default_factory=set)
    """Internal ones, by type: the text can contain what the visitor sent."""


def enrich(
    lines: Sequence[bytes],
    accounts: Mapping[bytes, bytes],
    webhook_counts: Mapping[bytes, WebhookCounts],
    settings: IntakeSettings,
    *,
    max_deliveries: float,
) -> Enriched:
    """Build the clicks.

    `accounts`: by link, both as bytes: hexadecimal, and binary. `webhook_counts`: by account. `max_deliveries`: to
    webhooks and platforms: the batch ends before the visit that has too many.
    """
    result, deliveries = Enriched(lines=len(lines)), 0
    for number, visit in enumerate(_decoded(lines, result)):
        account = accounts.get(visit.link) if visit else None
        if visit is None or account is None:
            result.unknown_links += visit is not None
            continue
        deliveries += _count_deliveries(visit, webhook_counts.get(account))
        if deliveries > max_deliveries:
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
