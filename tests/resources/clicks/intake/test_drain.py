"""R19: from the spool to rows and counters, exactly once, whatever happens in between."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from measured import increases
from people import Person, new_person
from sqlalchemy import func, select, text, update
from structlog.testing import capture_logs

from waypost.database import Database
from waypost.kit.clock import from_microseconds, now
from waypost.kit.ids import new_id
from waypost.redirect import Spool
from waypost.redirect.spool import HEADER, Visit, encode, segments
from waypost.resources.clicks.backends.sql.rebuild import rebuild
from waypost.resources.clicks.intake import drain as drain_module
from waypost.resources.clicks.intake.build import IntakeSettings
from waypost.resources.clicks.intake.drain import Drainer, adapt_size
from waypost.resources.clicks.intake.positions import prevent_erasing
from waypost.resources.clicks.model import WHOLE_DAY, click_totals, clicks, spool_positions
from waypost.resources.links.model import link_clicks, links

CHROME = (
    b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
)
AT = 1_763_690_000_123_456
SETTINGS = IntakeSettings((), "full", lambda _address: "DE", b"key")


def visit(link: UUID, **fields: bytes) -> bytes:
    blank = Visit(new_id().hex.encode(), b"%d" % AT, link.hex.encode())
    return encode(blank._replace(**({"peer": b"192.0.2.7"} | fields)))


@pytest.fixture
async def alice(db: Database) -> Person:
    return await new_person(db, "alice")


@pytest.fixture
async def link(db: Database, alice: Person) -> UUID:
    return await new_link(db, alice)


async def new_link(db: Database, person: Person) -> UUID:
    link_id = new_id()
    row = {
        "id": link_id,
        "account_id": person.account_id,
        "slug": link_id.hex,
        "destination_url": "https://example.com/",
        "title": "",
        "search_text": "",
        "utm_params": {},
        "tags": [],
        "is_enabled": True,
        "created_at": now(),
        "updated_at": now(),
    }
    async with db.write() as tx:
        await tx.execute(links.insert(), row)
        await tx.execute(link_clicks.insert(), {"link_id": link_id, "account_id": person.account_id, "clicks": 0})
    return link_id


@pytest.fixture
async def spool(tmp_path: Path) -> AsyncIterator[Spool]:
    spool = Spool(tmp_path / "spool", limit=1 << 30)
    yield spool
    spool.close()


class Ticks:
    """A clock that is asked for each step, and has always gone on enough for another look at what can be removed."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def drainer(db: Database, tmp_path: Path) -> Drainer:
    return Drainer(db, tmp_path / "spool", SETTINGS, monotonic=Ticks())


@pytest.fixture(autouse=True)
async def figures_agree(db: Database) -> AsyncIterator[None]:
    """After every test, a recount finds nothing to correct."""
    yield
    done = await rebuild(db)
    assert (done.corrected, done.links) == (0, 0)


async def counted(db: Database, link: UUID) -> tuple[int, int]:
    """(the link's counter, its rows)."""
    async with db.read() as tx:
        counter = await tx.scalar(select(link_clicks.c.clicks).where(link_clicks.c.link_id == link)) or 0
        rows = select(func.count()).select_from(clicks).where(clicks.c.link_id == link, clicks.c.kind == "human")
        return counter, (await tx.execute(rows)).scalar_one()


async def drain(drainer: Drainer) -> None:
    while await drainer.step():
        pass


async def test_counts_visits(db: Database, spool: Spool, drainer: Drainer, link: UUID, alice: Person) -> None:
    referrer, target = b"https://u:p@from.example/page?q=secret", "Grüße\\".encode()
    spool.append(visit(link, user_agent=CHROME, referrer=referrer, query=b"r=qr", target=target))
    await drain(drainer)
    async with db.read() as tx:
        row = (await tx.execute(select(clicks))).one()
    assert row.target == "Grüße\\"
    assert (row.link_id, row.account_id, row.kind, row.is_scan) == (link, alice.account_id, "human", True)
    assert (row.ip, row.country, row.referrer) == ("192.0.2.7", "DE", "https://from.example/page")
    assert (row.device, row.browser, row.platform) == ("desktop", "Chrome", "Windows")
    assert row.created_at == from_microseconds(AT)
    assert row.day == AT // 86_400_000_000
    assert await counted(db, link) == (1, 1)


async def test_continues_at_the_stored_position(db, spool, drainer, link, tmp_path) -> None:
    spool.append(visit(link) + visit(link))
    await drain(drainer)
    spool.append(visit(link))
    await drain(Drainer(db, tmp_path / "spool", SETTINGS))  # another process
    await drain(drainer)
    assert await counted(db, link) == (3, 3)


async def test_a_half_written_line_waits_for_its_end(db, spool, drainer, link) -> None:
    line = visit(link)
    spool.append(visit(link) + line[:40])
    await drain(drainer)
    assert await counted(db, link) == (1, 1)
    spool.append(line[40:])
    await drain(drainer)
    assert await counted(db, link) == (2, 2)


async def test_finished_segments_are_removed_with_their_positions(db, spool, drainer, link, tmp_path) -> None:
    spool.append(visit(link))
    await drain(drainer)
    assert len(segments(tmp_path / "spool")) == 1
    spool.close()
    await drain(drainer)
    assert segments(tmp_path / "spool") == []
    async with db.read() as tx:
        assert (await tx.execute(select(spool_positions))).all() == []
    assert await counted(db, link) == (1, 1)


async def test_drained_lines_are_erased_from_a_segment_in_use(db, spool, drainer, link, tmp_path) -> None:
    [segment] = segments(tmp_path / "spool")
    line = visit(link)
    spool.append(visit(link, referrer=b"https://from.example/?q=secret") + line[:100])
    await drain(drainer)
    content = segment.read_bytes()
    assert content.startswith(HEADER)
    assert content.removeprefix(HEADER).lstrip(b"\n") == line[:100]  # everything else is to be read yet
    spool.append(line[100:] + visit(link))
    await drain(drainer)
    assert segment.read_bytes().removeprefix(HEADER).strip(b"\n") == b""
    assert await counted(db, link) == (3, 3)


async def test_erases_lines_that_a_killed_drainer_left(
    db, spool, drainer, link, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [segment] = segments(tmp_path / "spool")
    spool.append(visit(link))
    with monkeypatch.context() as killed:
        killed.setattr(drain_module, "erase_drained", lambda _directory, _positions, erased: erased)
        await drain(drainer)
    assert b"192.0.2.7" in segment.read_bytes()
    await drain(Drainer(db, tmp_path / "spool", SETTINGS))
    assert b"192.0.2.7" not in segment.read_bytes()
    assert await counted(db, link) == (1, 1)


async def test_erases_nothing_during_a_copy(db, spool, drainer, link, tmp_path) -> None:
    [segment] = segments(tmp_path / "spool")
    spool.append(visit(link))
    with prevent_erasing(tmp_path / "spool"):
        await drain(drainer)
        assert b"192.0.2.7" in segment.read_bytes()
    await drain(drainer)
    assert b"192.0.2.7" not in segment.read_bytes()


async def test_drains_without_being_able_to_erase(db, spool, drainer, link, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(drain_module, "erase_drained", refuse)
    with capture_logs() as logs:
        for _ in range(3):
            spool.append(visit(link))
            await drain(drainer)
    assert [line["event"] for line in logs] == ["drained visits could not be erased"]
    assert await counted(db, link) == (3, 3)


async def test_removes_drained_segments_during_a_backlog(db, drainer, link, tmp_path) -> None:
    for count in (1, 1, 8000):  # the last one takes several steps
        spool = Spool(tmp_path / "spool", limit=1 << 30)
        spool.append(b"".join(visit(link, user_agent=b"x" * 900) for _ in range(count)))
        spool.close()
    assert await drainer.step()
    assert await drainer.step()
    assert len(segments(tmp_path / "spool")) == 1


async def test_counts_a_restored_segment_once(db, spool, drainer, link, tmp_path) -> None:
    """After a crash of the machine: the database's commit had reached the disk, the directory's change had not."""
    spool.append(visit(link) + visit(link))
    spool.close()
    (segment,) = segments(tmp_path / "spool")
    content = segment.read_bytes()
    await drain(drainer)
    await drainer.step()
    assert not segment.exists()
    segment.write_bytes(content + visit(link) + content[len(HEADER) :])
    await drain(drainer)
    await drainer.step()
    assert await counted(db, link) == (3, 3)
    assert not segment.exists()


async def test_skips_a_partial_last_line(db, spool, drainer, link, tmp_path) -> None:
    spool.append(visit(link) + b"0123\t45")
    spool.close()
    await drain(drainer)
    assert await counted(db, link) == (1, 1)
    assert segments(tmp_path / "spool") == []


async def test_skips_damaged_lines_only(db, spool, drainer, link) -> None:
    spool.append(visit(link) + b"\n" + b"rubbish\n" + visit(link).replace(b"\t", b" ", 1) + visit(link))
    spool.append(visit(link).replace(link.hex.encode(), b"z" * 32) + visit(link, at=b"9" * 30) + visit(link))
    await drain(drainer)
    assert await counted(db, link) == (3, 3)


async def test_skips_a_line_that_raises_an_unexpected_error(db, spool, link, tmp_path) -> None:
    def countries(address: str) -> str:
        if address == "192.0.2.66":
            raise TypeError(address)
        return "DE"

    drainer = Drainer(db, tmp_path / "spool", IntakeSettings((), "full", countries, b"key"))
    evil = visit(link, peer=b"192.0.2.66")
    spool.append(visit(link) + evil + evil + visit(link))
    with capture_logs() as logs:
        await drain(drainer)
    assert await counted(db, link) == (2, 2)
    assert [entry["errors"] for entry in logs if entry["log_level"] == "error"] == [["TypeError"]]
    assert "192.0.2.66" not in str(logs)


async def test_skips_visits_of_unknown_links(db, spool, drainer, link) -> None:
    spool.append(visit(uuid4()) + visit(link))
    await drain(drainer)
    assert await counted(db, link) == (1, 1)


async def test_counts_drained_clicks_and_skipped_visits(db, spool, drainer, link, tmp_path) -> None:
    lines = visit(link) + visit(link) + visit(uuid4()) + b"damaged\n"
    spool.append(lines)
    with increases() as increased:
        await drain(drainer)
        copy = Spool(tmp_path / "spool", limit=1 << 30)
        copy.append(lines[: lines.index(b"\n") + 1])
        await drain(drainer)
        copy.close()
    skipped = "waypost_visits_skipped_total"
    assert increased["waypost_clicks_drained_total"] == 2
    assert {name: value for name, value in increased.items() if skipped in name} == {
        f"{skipped} duplicate": 1,
        f"{skipped} unknown_link": 1,
        f"{skipped} damaged": 1,
    }


async def test_a_deleted_link_still_counts(db, spool, drainer, link, alice) -> None:
    spool.append(visit(link))
    async with db.write() as tx:
        await tx.execute(update(links).where(links.c.id == link).values(deleted_at=now()))
    await drain(drainer)
    assert await counted(db, link) == (1, 1)


async def test_counts_clicks_of_a_deleted_link_for_its_account(db, spool, drainer, link, alice) -> None:
    spool.append(visit(link))
    async with db.write() as tx:
        await tx.execute(update(links).where(links.c.id == link).values(deleted_at=now()))
    await drain(drainer)
    async with db.read() as tx:
        of_account = (click_totals.c.subject_id == alice.account_id, click_totals.c.quarter == WHOLE_DAY)
        assert await tx.scalar(select(click_totals.c.clicks).where(*of_account)) == 1
        assert await tx.scalar(select(links.c.deleted_at).where(links.c.id == link)) is not None


async def test_counts_visits_of_a_clock_that_goes_back(db, spool, drainer, link) -> None:
    for back in (0, 3_600, 86_400, 5, 0):
        spool.append(visit(link, at=b"%d" % (AT - back * 1_000_000)))
        await drain(drainer)
    assert await counted(db, link) == (5, 5)


async def test_skips_visits_of_a_clock_far_in_the_future(db, spool, drainer, link) -> None:
    spool.append(visit(link, at=b"0") + visit(link, at=b"4102444800000000") + visit(link))
    await drain(drainer)
    assert await counted(db, link) == (2, 2)


async def test_counts_a_returning_visitor_once(db, spool, drainer, link) -> None:
    for minutes in (0, 1, 14, 45, 44, 200):
        spool.append(visit(link, at=b"%d" % (AT + minutes * 60_000_000)))
        await drain(drainer)
    async with db.read() as tx:
        whole = click_totals.c.quarter == WHOLE_DAY, click_totals.c.subject_id == link
        row = (await tx.execute(select(click_totals).where(*whole))).one()
    assert (row.clicks, row.visitors) == (6, 1)


@pytest.mark.parametrize("header", ["user_agent", "referrer", "language", "forwarded_for", "forwarded", "purpose"])
@pytest.mark.parametrize(
    "sent", [b"", b"\xff\xfe\x00\x01'\"<>\\", b"x" * 8192, b"https://\xf0\x9f\x98\x80/" + b"y" * 8192]
)
async def test_counts_visits_with_any_header_bytes(db, spool, drainer, link, header, sent) -> None:
    spool.append(visit(link, **{header: sent}))
    await drain(drainer)
    async with db.read() as tx:
        assert len((await tx.execute(select(clicks))).all()) == 1


async def test_stores_prefetches_without_counting(db, spool, drainer, link) -> None:
    spool.append(visit(link, purpose=b"prefetch;prerender") + visit(link))
    await drain(drainer)
    assert await counted(db, link) == (1, 1)
    async with db.read() as tx:
        assert (await tx.execute(select(func.count()).select_from(clicks))).scalar_one() == 2


async def test_drains_many_links_in_several_batches(db, spool, drainer, alice) -> None:
    several = [await new_link(db, alice) for _ in range(5)]
    for _ in range(3000):
        spool.append(b"".join(visit(link, user_agent=b"x" * 200) for link in several))
    await drain(drainer)
    assert [await counted(db, link) for link in several] == [(3000, 3000)] * 5


async def test_retries_a_failed_commit(db, spool, drainer, link) -> None:
    spool.append(visit(link))
    async with db.write() as tx:
        await tx.execute(text("ALTER TABLE clicks RENAME TO gone"))
    with pytest.raises(Exception, match=r"clicks|database"):
        await drainer.step()
    async with db.write() as tx:
        await tx.execute(text("ALTER TABLE gone RENAME TO clicks"))
    await drain(drainer)
    assert await counted(db, link) == (1, 1)


async def test_two_drainers_count_once(db, spool, link, tmp_path) -> None:
    for _ in range(2000):
        spool.append(visit(link, user_agent=b"x" * 900))

    await asyncio.gather(*(drain(Drainer(db, tmp_path / "spool", SETTINGS)) for _ in range(2)))
    assert await counted(db, link) == (2000, 2000)


async def test_counts_a_visitor_of_many_links_once(db, spool, alice, tmp_path, monkeypatch) -> None:
    """In many batches, by drainers one after the other and at the same time."""
    monkeypatch.setattr(drain_module, "_BATCH_BYTES", {"sqlite": 1_000, "postgresql": 1_000})
    several = [await new_link(db, alice) for _ in range(12)]
    for minutes in (0, 20, 300):
        spool.append(b"".join(visit(link, at=b"%d" % (AT + minutes * 60_000_000)) for link in several))
        await Drainer(db, tmp_path / "spool", SETTINGS).step()
    await asyncio.gather(*(drain(Drainer(db, tmp_path / "spool", SETTINGS)) for _ in range(2)))
    assert [await counted(db, link) for link in several] == [(3, 3)] * 12
    of_account = click_totals.c.subject_id == alice.account_id, click_totals.c.quarter == WHOLE_DAY
    async with db.read() as tx:
        row = (await tx.execute(select(click_totals.c.clicks, click_totals.c.visitors).where(*of_account))).one()
    assert tuple(row) == (36, 1)


async def test_tolerates_a_segment_removed_by_another_drainer(db, spool, drainer, link, tmp_path) -> None:
    (tmp_path / "spool" / f"{new_id()}.visits").symlink_to("gone")  # is listed, and cannot be opened
    spool.append(visit(link))
    await drain(drainer)
    await drainer.step()
    assert await counted(db, link) == (1, 1)


async def test_skips_a_segment_of_another_format(db, spool, drainer, link, tmp_path) -> None:
    strange = tmp_path / "spool" / f"{new_id()}.visits"
    strange.write_bytes(b"waypost-spool 99\n" + visit(link))
    spool.append(visit(link))
    await drain(drainer)
    await drainer.step()
    assert await counted(db, link) == (1, 1)
    assert strange.exists()


def test_batches_shrink_while_commits_take_long_and_grow_again() -> None:
    sizes = [1.0]
    for took in (0.1, 0.8, 2.0, 2.0, 2.0, *[0.1] * 10):
        sizes.append(adapt_size(sizes[-1], took))
    assert sizes[:6] == [1.0, 1.0, 0.5, 0.4, 0.4, 0.4]
    assert adapt_size(0.5, 0.2) == 0.5
    assert sizes[-1] == 1.0
    assert sizes[6:] == sorted(sizes[6:])


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_the_log_is_copied_between_batches(db, spool, drainer, link, monkeypatch) -> None:
    spool.append(visit(link))
    await drainer.step()
    assert stored_in_file(db.path) == 0
    monkeypatch.setattr(drain_module, "_CHECKPOINT_PAGES", 0)
    spool.append(visit(link))
    await drainer.step()
    assert stored_in_file(db.path) == 2


def stored_in_file(path: Path) -> int:
    """The clicks that are not only in the log."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM clicks").fetchone()[0])
        except sqlite3.OperationalError:  # no table either
            return 0
