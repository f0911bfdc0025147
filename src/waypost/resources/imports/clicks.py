"""Turns the clicks of a source into clicks, by the steps of visits, and stores them with their statistics.

A click's id follows from what it is at the source, so it is stored once, however often it is imported. Neither webhooks
nor platforms are notified of it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from ipaddress import ip_address
from typing import Any, Protocol
from uuid import UUID

from waypost.database import Database, Tx
from waypost.kit.clock import microseconds
from waypost.redirect.spool import Visit
from waypost.resources import links, qrcodes
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.intake.build import IntakeSettings, build_click
from waypost.resources.clicks.model import CRAWLER, HUMAN, Click
from waypost.resources.clicks.stats import aggregate
from waypost.resources.imports.page_plan import PagePlan
from waypost.resources.imports.source import SourceClick
from waypost.visitors.agents import OTHER, Agent, parse_names

_MAX_FIELD = 1_024


@dataclass(slots=True)
class EqualClicks:
    """Numbers the clicks of one moment that have no id and are equal. Their order at the source is their time's."""

    at: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def number(self, at: int, key: str) -> int:
        if at != self.at:
            self.at, self.counts = at, Counter()
        self.counts[key] += 1
        return self.counts[key]

    def to_json(self) -> list[Any]:
        return [self.at, dict(self.counts)]

    @staticmethod
    def from_json(value: Any) -> "EqualClicks":
        return EqualClicks(value[0], Counter(value[1])) if value else EqualClicks()


def build(
    click: SourceClick, link_key: UUID, link_id: UUID, account_id: UUID, equal: EqualClicks, settings: IntakeSettings
) -> Click:
    """`link_key`: the link's key in `imported_links`. Raises OverflowError for a time after 2100."""
    at = microseconds(click.at)
    text = "\0".join(
        value or ""
        for value in (click.referrer, click.user_agent, click.browser, click.platform, click.country, click.ip)
    )
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=8, key=link_key.bytes).hexdigest()
    identity = click.source_id or f"{digest} {equal.number(at, digest)}"
    visit = Visit(
        id=_click_id(at, link_key, identity).hex.encode(),
        at=b"%d" % at,
        link=link_id.hex.encode(),
        query=b"r=qr" if click.is_qr_scan else b"",
        peer=_address(click.ip),
        user_agent=_bytes(click.user_agent),
        referrer=_bytes(click.referrer),
    )
    built = build_click(visit, account_id.bytes, settings)
    if click.country and len(click.country) == 2 and click.country.isascii() and click.country.isalpha():
        built = built._replace(country=click.country.upper())
    if not click.user_agent:
        agent: Agent = parse_names(click.browser or OTHER, click.platform or OTHER, click.device or "")
        built = built._replace(browser=agent.browser, platform=agent.platform, device=agent.device)
        built = built._replace(kind=HUMAN, bot=None)
    if click.is_bot and built.kind == HUMAN:
        built = built._replace(kind=CRAWLER)
    return built


def settings_of_imports(settings: IntakeSettings) -> IntakeSettings:
    """The addresses are those of visitors already."""
    return replace(settings, trusted_proxies=())


class ClickWriter(Protocol):
    async def send(self, db: Database, clicks: Sequence[Click], token: str) -> Sequence[Click]:
        """Do what is done outside the transaction. Return the clicks to `add`. `token`: identifies the page."""

    async def add(self, tx: Tx, new: Sequence[Click]) -> int:
        """Store what is in the database, in the transaction of the page. Return how many clicks were new."""


def plan_clicks(plan: PagePlan, db: Database, writer: ClickWriter, clicks: Sequence[Click], token: str) -> PagePlan:
    """Let the clicks be stored with the page. `token`: see `ClickWriter.send`."""
    new: Sequence[Click] = ()

    async def send() -> None:
        nonlocal new
        new = await writer.send(db, clicks, token)

    async def add(tx: Tx) -> None:
        plan.done.counts.clicks += await writer.add(tx, new)

    plan.prepare, plan.apply = send, add
    return plan


class SqlClickWriter:
    async def send(self, _db: Database, clicks: Sequence[Click], _token: str) -> Sequence[Click]:
        return clicks

    async def add(self, tx: Tx, new: Sequence[Click]) -> int:
        await write.lock(tx)
        added = await write.add(tx, new)
        counts = aggregate.Aggregate.of(added)
        await write.save(tx, counts)
        await links.add_clicks(tx, counts.clicks_per_link(), last_at=max((click.at for click in added), default=0))
        await qrcodes.add_scans(tx, counts.scans_per_link())
        return len(added)


def _click_id(at: int, link_key: UUID, identity: str) -> UUID:
    """Return a UUIDv7 of the click's time."""
    digest = blake2b(identity.encode("utf-8", "replace"), digest_size=10, key=link_key.bytes).digest()
    random = int.from_bytes(digest)
    return UUID(int=at // 1_000 << 80 | 0x7 << 76 | (random >> 62 & 0xFFF) << 64 | 0x2 << 62 | random & (1 << 62) - 1)


def _address(text: str | None) -> bytes:
    try:
        return str(ip_address(text.strip())).encode() if text else b""
    except ValueError:
        return b""


def _bytes(text: str | None) -> bytes:
    return (text or "")[:_MAX_FIELD].encode("utf-8", "replace")
