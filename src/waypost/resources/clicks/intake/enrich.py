"""Turns the lines of a batch into clicks: all of a batch that needs no database. Runs in a thread."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from waypost.redirect.spool import Visit, decode
from waypost.resources.clicks.intake.bots import FETCHER, HINT_OF_FETCHER, is_fetcher
from waypost.resources.clicks.intake.build import IntakeSettings, address_of, build_click
from waypost.resources.clicks.model import HUMAN, PREVIEW, Click

_OPENS_WITHIN = 1_000_000  # microseconds until the browser's visit after a fetcher's


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
    now: int | None,
) -> Enriched:
    """Build the clicks.

    `accounts`: by link, both as bytes: hexadecimal, and binary. `webhook_counts`: by account. `max_deliveries`: to
    webhooks and platforms: the batch ends before the visit that has too many. `now`: microseconds since 1970. The batch
    ends before a fetcher's visit after which the browser's may still come, unless it is None.
    """
    result, deliveries = Enriched(lines=len(lines)), 0
    has_fetchers = HINT_OF_FETCHER in b"".join(lines)
    visits: list[Visit] = []
    for number, visit in enumerate(_decoded(lines, result)):
        account = accounts.get(visit.link) if visit else None
        if visit is None or account is None:
            result.unknown_links += visit is not None
            continue
        deliveries += _count_deliveries(visit, webhook_counts.get(account))
        if deliveries > max_deliveries or (has_fetchers and now is not None and _is_too_new(visit, now)):
            result.lines = number
            break
        try:
            result.clicks.append(build_click(visit, account, settings))
            if has_fetchers:
                visits.append(visit)
        except (ValueError, OverflowError):
            result.damaged += 1
        except Exception as error:  # noqa: BLE001  # one line must not block all lines after it
            result.damaged += 1
            result.errors.add(type(error).__name__)
    if has_fetchers:
        _make_previews(result.clicks, visits, settings)
    return result


def _is_too_new(visit: Visit, now: int) -> bool:
    return 0 <= now - int(visit.at) < _OPENS_WITHIN and is_fetcher(visit.user_agent)


def _make_previews(clicks: list[Click], visits: Sequence[Visit], settings: IntakeSettings) -> None:
    """Make the visits of fetchers previews, if the browser then visits the link from the same address.

    `visits`: of the clicks.
    """
    fetches = [n for n, visit in enumerate(visits) if clicks[n].kind == HUMAN and is_fetcher(visit.user_agent)]
    fetched = {visits[n].link for n in fetches}
    opened: defaultdict[tuple[bytes, str], list[int]] = defaultdict(list)
    for click, visit in zip(clicks, visits, strict=True):
        is_browser = click.kind == HUMAN and visit.user_agent.startswith(b"Mozilla/")
        if visit.link in fetched and is_browser and not is_fetcher(visit.user_agent):
            opened[visit.link, address_of(visit, settings)].append(click.at)
    for times in opened.values():
        times.sort()
    for n in fetches:
        click, address = clicks[n], address_of(visits[n], settings)
        times = opened.get((visits[n].link, address), []) if address else []
        next_one = bisect_left(times, click.at)
        if next_one < len(times) and times[next_one] - click.at < _OPENS_WITHIN:
            clicks[n] = click._replace(kind=PREVIEW, bot=FETCHER, pixels=(), user_agent="")


def _decoded(lines: Iterable[bytes], result: Enriched) -> Iterable[Visit | None]:
    for line in lines:
        visit = decode(line)
        result.damaged += bool(line) and visit is None
        yield visit


def _count_deliveries(visit: Visit, webhooks: WebhookCounts | None) -> int:
    pixels = visit.pixels.count(b",") + 1 if visit.pixels else 0
    return pixels + (webhooks.link_clicked + webhooks.pixel_fired * pixels if webhooks else 0)
