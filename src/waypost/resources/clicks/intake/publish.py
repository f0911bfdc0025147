"""Tells of the clicks of a batch, in the transaction that stores them: webhooks of each and of the pixels that fired,
and by way of a queue the platforms of those pixels.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from uuid import UUID

from waypost.database import Database, Tx
from waypost.kit.clock import from_microseconds
from waypost.resources import links, webhooks
from waypost.resources.clicks.intake.steps import Rules
from waypost.resources.clicks.model import HUMAN, Click
from waypost.resources.clicks.schemas import to_event_json
from waypost.resources.pixels import events

_AT_ONCE = 500  # parameters of one statement


@dataclass(frozen=True, slots=True)
class Audience:
    """How many subscriptions of an account hear of each click, and of each pixel that fires."""

    clicked: int
    fired: int


async def audiences(db: Database, accounts: Collection[bytes]) -> Mapping[bytes, Audience]:
    """Accounts of which nobody hears are missing."""
    ids = {UUID(bytes=account) for account in accounts}
    async with db.read() as tx:
        clicked = await webhooks.listeners(tx, "link.clicked", ids, hold=False)
        fired = await webhooks.listeners(tx, "pixel.fired", ids, hold=False)
    heard = clicked.keys() | fired.keys()
    return {id_.bytes: Audience(len(clicked.get(id_, ())), len(fired.get(id_, ()))) for id_ in heard}


async def tell(tx: Tx, clicks: Sequence[Click], rules: Rules, *, now: datetime) -> None:
    """Of visits that count; bots and prefetches are nobody's click."""
    human = [click for click in clicks if click.kind == HUMAN]
    await _tell_of_clicks(tx, human)
    fired = [click for click in human if click.pixels]
    if fired:
        await _tell_of_pixels(tx, fired)
        await _tell_platforms(tx, fired, rules, now)


async def _tell_of_clicks(tx: Tx, clicks: Sequence[Click]) -> None:
    listening = await webhooks.listeners(tx, "link.clicked", _accounts(clicks))
    if listening:
        told = {account.bytes for account in listening}
        recorded = (_clicked(click) for click in clicks if click.account_id in told)
        await webhooks.record_all(tx, recorded, listening)


async def _tell_of_pixels(tx: Tx, clicks: Sequence[Click]) -> None:
    listening = await webhooks.listeners(tx, "pixel.fired", _accounts(clicks))
    if listening:
        told = {account.bytes for account in listening}
        recorded = (event for click in clicks if click.account_id in told for event in _fired(click))
        await webhooks.record_all(tx, recorded, listening)


async def _tell_platforms(tx: Tx, clicks: Sequence[Click], rules: Rules, now: datetime) -> None:
    """A link deleted meanwhile has no address any more that could be told."""
    wanted = await events.with_server_events(tx, {pixel for click in clicks for _, pixel in click.pixels})
    if not wanted:
        return
    telling = [click for click in clicks if any(pixel in wanted for _, pixel in click.pixels)]
    addresses = await _addresses(tx, {UUID(bytes=click.link_id) for click in telling}, rules)
    seen = ((click, url) for click in telling if (url := addresses.get(UUID(bytes=click.link_id))))
    addressed = (each for click, url in seen for each in _addressed(click, url, wanted))
    await events.record_all(tx, addressed, now=now)


async def _addresses(tx: Tx, link_ids: Collection[UUID], rules: Rules) -> dict[UUID, str]:
    ids, found = list(link_ids), dict[UUID, str]()
    for start in range(0, len(ids), _AT_ONCE):
        names = await links.find_names(tx, ids[start : start + _AT_ONCE], shared_domain=rules.shared_domain)
        found |= {link: f"{rules.scheme}://{name}" for link, (name, _) in names.items()}
    return found


def _accounts(clicks: Sequence[Click]) -> set[UUID]:
    return {UUID(bytes=account) for account in {click.account_id for click in clicks}}


def _clicked(click: Click) -> webhooks.WebhookEvent:
    account, source = UUID(bytes=click.account_id), UUID(bytes=click.id)
    return webhooks.WebhookEvent("link.clicked", account, source, from_microseconds(click.at), to_event_json(click))


def _fired(click: Click) -> Iterator[webhooks.WebhookEvent]:
    account, visit, at = UUID(bytes=click.account_id), str(UUID(bytes=click.id)), from_microseconds(click.at)
    for platform, pixel in click.pixels:
        data = {
            "pixel_id": str(pixel),
            "platform": platform,
            "link_id": str(UUID(bytes=click.link_id)),
            "visit_id": visit,
        }
        yield webhooks.WebhookEvent("pixel.fired", account, _source(click, pixel), at, data)


def _source(click: Click, pixel: UUID) -> UUID:
    """Begins with the click's time, as ids do."""
    return UUID(bytes=click.id[:6] + blake2b(click.id + pixel.bytes, digest_size=10).digest())


def _addressed(click: Click, url: str, wanted: Collection[UUID]) -> Iterator[events.PixelEvent]:
    visit, seconds = str(UUID(bytes=click.id)), click.at // 1_000_000
    event = events.PageView(visit, seconds, url, click.ip, click.user_agent, click.referrer)
    for platform, pixel in click.pixels:
        if pixel in wanted:
            yield events.PixelEvent(_source(click, pixel), pixel, platform, event)
