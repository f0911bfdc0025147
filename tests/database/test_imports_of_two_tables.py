"""Imports of commands and of the dashboard were in two tables. Both kinds can be continued in one."""

import lzma
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from conftest import PostgresServer
from database.test_releases import RELEASES, restored
from people import START
from resources.imports.importing import Pages, link, new_deps, run_to_the_end

from waypost.audit import Actor
from waypost.database import Database, Encrypted, Id, Instant, Json, KeyRing
from waypost.database.migrations import migrate
from waypost.kit.ids import new_id
from waypost.resources.imports import lease, service, store
from waypost.resources.imports.model import COLUMNS, Import, import_checks, import_file_pieces, imports
from waypost.resources.imports.report import Report
from waypost.resources.imports.run import ImportRun

KEYS = KeyRing(["a key"])
ROW = {"id": Id, "account_id": Id, "source": sa.Text, "state": sa.Text, "created_at": Instant, "updated_at": Instant}
BEGUN = {"options": Json, "cursor": Json, "counts": Json, "warnings": Json, "total": sa.Integer, "error": sa.Text}
ASKED = {"url": sa.Text, "token": Encrypted, "has_clicks": sa.Boolean, "timezone": sa.Text, "domains": Json}
ASKED |= {"file_name": sa.Text, "file_size": sa.BigInteger, "plan": Json, "import_id": Id, "message": sa.Text}


def table(name: str, columns: dict[str, Any]) -> sa.Table:
    return sa.Table(name, sa.MetaData(), *(sa.Column(*column) for column in columns.items()))


OLD_IMPORTS = table("imports", ROW | BEGUN)
OLD_REQUESTS = table("import_requests", ROW | ASKED | {"failures": sa.Integer})
OLD_REFUSALS = table(
    "import_refusals", {"import_id": Id, "number": sa.Integer, "source_id": sa.Text, "reason": sa.Text}
)
OLD_PIECES = table("import_file_pieces", {"request_id": Id, "start": sa.BigInteger, "content": sa.LargeBinary})
SECOND_PAGE = {"phase": "links", "at": "1"}


@pytest.fixture(params=["sqlite", "postgresql"])
async def earlier(request: pytest.FixtureRequest, tmp_path: Path, postgres: PostgresServer) -> AsyncIterator[Database]:
    """A database with the schema of before, and an account."""
    if request.param == "sqlite":
        path = tmp_path / "waypost.db"
        path.write_bytes(lzma.decompress((RELEASES / "0.1.0.sqlite.xz").read_bytes()))
        db = Database(f"sqlite:///{path}")
        yield db
        await db.close()
    else:
        with restored("0.1.0", postgres) as name:
            db = Database(postgres.url(name))
            yield db
            await db.close()


async def owner(db: Database) -> UUID:
    async with db.read() as tx:
        return (await tx.scalars(sa.select(sa.table("accounts", sa.column("id", Id))))).one()


async def insert(db: Database, table: sa.Table, account_id: UUID, **fields: Any) -> UUID:
    row = {"id": new_id(), "account_id": account_id, "source": "dub", "created_at": START, "updated_at": START}
    async with db.write() as tx:
        await tx.execute(table.insert(), row | fields)
    return UUID(str((row | fields)["id"]))


async def begun(db: Database, account_id: UUID, state: str, **fields: Any) -> UUID:
    """An import of before whose first page is done: a link, and a row that was refused."""
    values = {"options": {}, "cursor": SECOND_PAGE, "counts": {"found": 2, "created": 1, "refused": 1}, "warnings": []}
    id_ = await insert(db, OLD_IMPORTS, account_id, state=state, **(values | fields))
    async with db.write() as tx:
        await tx.execute(OLD_REFUSALS.insert(), {"import_id": id_, "number": 0, "source_id": "x", "reason": "No URL."})
    return id_


async def requested(db: Database, account_id: UUID, state: str, **fields: Any) -> UUID:
    id_, column = new_id(), sa.Table("import_requests", sa.MetaData(), sa.Column("token", Encrypted)).c.token
    values = {"id": id_, "url": None, "has_clicks": False, "timezone": None, "domains": {}, "plan": {}, "failures": 0}
    values |= {"token": KEYS.encrypt(column, id_, "secret")}
    return await insert(db, OLD_REQUESTS, account_id, state=state, **(values | fields))


async def finish(db: Database, import_: Import) -> Report:
    """Import the second page."""
    source = Pages([[], [link("second"), link("bad", destination_url="x")]])
    deps = new_deps(db)
    await run_to_the_end(ImportRun(deps, source, import_, lease.holder()))
    assert source.asked == ["1"]
    return await service.get_report(db, await service.get(db, import_.account_id, import_.id))


async def test_both_kinds_continue(earlier: Database) -> None:
    account_id = await owner(earlier)
    options = {"url": None, "file": None, "domains": {}, "clicks": True, "timezone": None}
    await begun(earlier, account_id, "stopped", options=options, error="The quota is used up.", source="csv")
    of_request = await begun(earlier, account_id, "waiting")
    request_id = await requested(earlier, account_id, "stopped", import_id=of_request, message="It is slow.")
    await migrate(earlier)
    async with earlier.read() as tx:
        assert sorted(await store.find_stopped(tx)) == ["It is slow.", "The quota is used up."]
        token = await store.find_token(tx, request_id)
    assert token
    assert KEYS.decrypt(imports.c.token, request_id, token) == "secret"
    by_command = await service.create(new_deps(earlier), Actor.command(account_id, "waypost import"), "csv", options)
    async with earlier.read() as tx:
        by_request = await store.get(tx, account_id, request_id)
    for import_ in (by_command, by_request):
        report = await finish(earlier, import_)
        assert (report.counts.found, report.counts.created, report.counts.refused) == (4, 2, 2)
        assert [row.source_id for row in report.refused] == ["x", "bad"]


async def test_checks_go_to_the_newest_request_that_has_not_ended(earlier: Database) -> None:
    account_id = await owner(earlier)
    shared, days = await begun(earlier, account_id, "waiting"), [START + timedelta(days=day) for day in range(4)]
    states = zip(["given_up", "stopped", "stopped", "given_up"], days, strict=True)
    ids = [
        await requested(earlier, account_id, state, import_id=shared, created_at=created_at)
        for state, created_at in states
    ]
    async with earlier.write() as tx:
        check = {"link_id": new_id(), "account_id": account_id, "import_id": shared}
        await tx.execute(import_checks.insert(), check)
    await migrate(earlier)
    async with earlier.read() as tx:
        assert await tx.scalar(sa.select(import_checks.c.import_id)) == ids[2]


async def test_states_and_files_are_kept(earlier: Database) -> None:
    account_id = await owner(earlier)
    finished, of_command = await begun(earlier, account_id, "finished"), await begun(earlier, account_id, "finished")
    ids = {
        "done": await requested(earlier, account_id, "stopped", import_id=finished, message="It is slow."),
        "given_up": await requested(earlier, account_id, "given_up", import_id=finished, token=None),
        "planned": await requested(earlier, account_id, "planned", file_name="a.csv", file_size=3, plan={"total": 1}),
    }
    interrupted = await begun(earlier, account_id, "waiting")
    if earlier.dialect == "postgresql":
        async with earlier.write() as tx:
            await tx.execute(OLD_PIECES.insert(), {"request_id": ids["planned"], "start": 0, "content": b"a,b"})
    await migrate(earlier)
    async with earlier.read() as tx:
        found = {row.id: Import(*row) for row in await tx.execute(sa.select(*COLUMNS))}
        pieces = (await tx.execute(sa.select(import_file_pieces))).all()
        refusals = {state: await store.list_refusals(tx, id_) for state, id_ in ids.items()}
        tokens = {state: bool(await store.find_token(tx, id_)) for state, id_ in ids.items()}
    assert {state: found[id_].state for state, id_ in ids.items()} == {state: state for state in ids}
    assert {state: len(rows) for state, rows in refusals.items()} == {"done": 1, "given_up": 1, "planned": 0}
    assert tokens == {"done": False, "given_up": False, "planned": True}
    assert (found[of_command].state, found[of_command].has_page) == ("done", False)
    assert found[interrupted].state == "running"
    assert found[ids["planned"]].plan == {"total": 1}
    assert found[ids["planned"]].options["file"] == str(ids["planned"])
    assert [tuple(row) for row in pieces] == [(ids["planned"], 0, b"a,b")] * (earlier.dialect == "postgresql")
