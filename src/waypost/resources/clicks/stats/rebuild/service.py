"""Figures made anew from click rows, beside the running service: what differs is put right, the rest is not touched."""

from collections.abc import Callable
from dataclasses import dataclass

from waypost.database import Database
from waypost.resources.clicks.days import days_of, kept_since
from waypost.resources.clicks.model import click_dimensions, click_totals, clicks, visitor_days
from waypost.resources.clicks.stats.rebuild.account_days import Piece, clear_strays, pieces, recount, recount_at_once
from waypost.resources.clicks.stats.rebuild.link_counters import count_links


@dataclass(slots=True)
class Rebuilt:
    days: int = 0
    pieces: int = 0
    corrected: int = 0
    """Pieces that were not as they should be, or days with figures of no click."""
    links: int = 0
    """Those whose counter was set."""


async def rebuild(
    db: Database, *, from_day: int | None = None, told: Callable[[int, int], None] | None = None
) -> Rebuilt:
    """`told` gets the number of days done and of all."""
    done = Rebuilt()
    moving: list[Piece] = []
    days = await days_to_count(db, from_day)
    for day in days:
        if told:
            told(done.days, len(days))
        done.corrected += await clear_strays(db, day)
        async for piece in pieces(db, day):
            done.pieces += 1
            outcome = await recount(db, piece)
            done.corrected += outcome != "right"
            moving += [piece] if outcome == "moving" else []
        done.days += 1
    for piece in moving:
        if await recount(db, piece) == "moving":
            await recount_at_once(db, piece)
    if told:
        told(done.days, len(days))
    done.links = await count_links(db)
    return done


async def days_to_count(db: Database, from_day: int | None) -> list[int]:
    """Those with clicks or figures, of which no row has been taken away."""
    async with db.read() as tx:
        kept = await kept_since(tx)
        found: set[int] = set()
        for table in (clicks, click_totals, click_dimensions, visitor_days):
            found |= {*await days_of(tx, table)}
    first = kept if from_day is None else max(from_day, kept)
    return sorted(day for day in found if day >= first)
