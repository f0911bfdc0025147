"""Stores imported clicks in ClickHouse, and the counters of their links in PostgreSQL."""

from collections import Counter
from collections.abc import Sequence

import structlog

from waypost.database import Database, Tx
from waypost.kit import clock
from waypost.resources import links, qrcodes
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore
from waypost.resources.clicks.backends.clickhouse.client import LONG_TIMEOUT
from waypost.resources.clicks.backends.clickhouse.rebuild import correct_day
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.model import HUMAN, Click

log = structlog.get_logger(__name__)


class ClickHouseClickWriter:
    def __init__(self, store: ClickHouseStore) -> None:
        self._store = store

    async def send(self, db: Database, clicks: Sequence[Click], token: str) -> Sequence[Click]:
        """Insert those that no other page has stored. After a kill, the page is sent again with the same token."""
        if not clicks:
            return clicks
        times = [click.at for click in clicks]
        rows = await self._store.client.query(
            "SELECT id, batch = {token:String} FROM clicks WHERE account_id = unhex({account:String})"
            " AND created_at >= fromUnixTimestamp64Micro({first:Int64})"
            " AND created_at <= fromUnixTimestamp64Micro({last:Int64})",
            {"account": clicks[0].account_id.hex(), "first": min(times), "last": max(times), "token": token},
            limit=LONG_TIMEOUT,
        )
        stored = {id_ for id_, is_of_this_page in rows if not is_of_this_page}
        new = [click for click in clicks if click.id not in stored]
        if len(stored) == len(rows):
            await self._store.insert(new, token)
        else:
            await self._store.insert_again(new, token)
            for day in sorted({click.day for click in new}):
                if await correct_day(db, self._store.client, day, clock=clock.now):
                    log.warning("statistics of a repeated page corrected", day=day)
        return new

    async def add(self, tx: Tx, new: Sequence[Click]) -> int:
        human = [click for click in new if click.kind == HUMAN]
        await write.lock(tx)
        counts = Counter((click.link_id, click.account_id) for click in human)
        await links.add_clicks(
            tx,
            [(*link, count) for link, count in counts.items()],
            last_at=max((click.at for click in human), default=0),
        )
        await qrcodes.add_scans(tx, Counter(click.link_id for click in human if click.is_scan))
        return len(new)
