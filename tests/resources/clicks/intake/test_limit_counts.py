"""What a link with a click limit has been clicked, in the database and in the spool."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
from people import new_person
from resources.clicks.intake.test_drain import CHROME, SETTINGS, drain, new_link, visit

from waypost.database import Database
from waypost.redirect import Spool
from waypost.resources.clicks.intake import positions as limit_counts
from waypost.resources.clicks.intake.drain import Drainer
from waypost.resources.clicks.intake.positions import count_stored, count_stored_and_spooled


@pytest.fixture
async def spool(tmp_path: Path) -> AsyncIterator[Spool]:
    spool = Spool(tmp_path / "spool", limit=1 << 30)
    yield spool
    spool.close()


async def test_counts_people_once(db: Database, spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = await new_person(db, "alice")
    link, other = await new_link(db, person), await new_link(db, person)
    name, directory = link.hex.encode(), tmp_path / "spool"
    drainer = Drainer(db, directory, SETTINGS)

    async def counts() -> tuple[int, int]:
        return await count_stored(db, name), await count_stored_and_spooled(db, directory, name)

    assert await counts() == (0, 0)
    person_visit = visit(link, user_agent=CHROME)
    spool.append(person_visit + visit(other, user_agent=CHROME, query=name))
    spool.append(visit(link, user_agent=b"ExampleBot/1.0") + visit(link, user_agent=CHROME, purpose=b"prefetch"))
    assert await counts() == (0, 1)
    await drain(drainer)
    assert await counts() == (1, 1)
    spool.append(b"".join(visit(link, user_agent=CHROME) for _ in range(9)))
    assert await counts() == (1, 10)
    read = limit_counts._find_clicks
    loop_drain = []

    def read_before_drain(*arguments) -> dict[str, list[int]]:
        found = read(*arguments)
        loop_drain.append(found)
        return found

    monkeypatch.setattr(limit_counts, "_find_clicks", read_before_drain)
    to_thread = limit_counts.asyncio.to_thread

    async def drained_meanwhile(function, *arguments, **named):
        result = await to_thread(function, *arguments, **named)
        if function is read_before_drain:
            await drain(drainer)
        return result

    monkeypatch.setattr(limit_counts.asyncio, "to_thread", drained_meanwhile)
    assert await count_stored_and_spooled(db, directory, name) == 10
    assert loop_drain
    assert await counts() == (10, 10)
    assert await count_stored(db, UUID(int=1).hex.encode()) == 0
