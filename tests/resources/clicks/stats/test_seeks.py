"""No statement of lists and statistics scans a table, by the query plans of SQLite."""

import random
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from people import START
from resources.clicks.visited import Env, fill, open_env, some_clicks, spread
from sqlalchemy import text
from statements import noted

from waypost.database import Database
from waypost.kit.clock import timestamp

SCANS = re.compile(r"SCAN (clicks|click_totals|click_dimensions|links)\b")
QUERIES: list[tuple[str, dict[str, Any]]] = [
    ("clicks", {}),
    ("clicks", {"page": 5}),
    ("clicks", {"kind": "all"}),
    ("clicks", {"kind": "crawler", "country": "DE"}),
    ("clicks", {"country": "DE"}),
    ("clicks", {"browser": "Firefox", "device": "mobile"}),
    ("clicks", {"from": timestamp(START - timedelta(hours=30)), "to": timestamp(START)}),
    ("stats", {}),
    ("stats", {"interval": "hour", "timezone": "Asia/Kathmandu"}),
    ("stats", {"from": timestamp(START - timedelta(hours=30, minutes=4)), "to": timestamp(START - timedelta(hours=1))}),
]


@pytest.fixture
async def env(tmp_path: Path, sqlite_template: Path) -> AsyncIterator[Env]:
    path = tmp_path / "waypost.db"
    path.write_bytes(sqlite_template.read_bytes())
    db = Database(f"sqlite:///{path}")
    async with open_env(db, tmp_path) as opened:
        yield opened
    await db.close()


@pytest.mark.parametrize(("what", "query"), QUERIES, ids=str)
async def test_reads_by_seeks(env: Env, what: str, query: dict[str, Any]) -> None:
    chance = random.Random(1)
    link = await env.link()
    await fill(env.db, some_clicks(link, spread(START - timedelta(days=9), START, 100, chance), chance))
    for path in (f"/{what}", f"/links/{link.id}/{what}"):
        plans = await plans_of(env, path, query)
        assert sum("SEARCH" in plan for plan in plans) >= 3
        assert [plan for plan in plans if SCANS.search(plan)] == []


async def test_a_scan_would_be_found(env: Env) -> None:
    async with env.db.read() as tx:
        (plan,) = await tx.execute(text("EXPLAIN QUERY PLAN SELECT min(day), max(day) FROM click_totals"))
    assert SCANS.search(plan.detail)


async def plans_of(env: Env, path: str, query: dict[str, Any]) -> list[str]:
    with noted() as asked:
        await env.shown(path, **query)
    found = []
    async with env.db.read() as tx:
        for statement, parameters in asked:
            if statement.startswith(("SELECT", "WITH", "\nSELECT")):
                plan = await tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
                found += [row.detail for row in plan]
    return found
