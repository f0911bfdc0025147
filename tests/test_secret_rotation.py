"""R12: `waypost secrets rotate` brings every secret under the first key, loses none, and names what it cannot read."""

import asyncio
import itertools
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from forked import WAYPOST
from sqlalchemy import Column, MetaData, Table, create_engine, insert, select, update
from test_cli import Waypost

from waypost.commands.secret_rotation import RotationResult, encrypted_columns, rotate
from waypost.database import Ciphertext, Database, Id, KeyRing, metadata
from waypost.database.secrets import Encrypted
from waypost.kit.clock import now
from waypost.resources.webhooks.model import webhooks

OLD_KEY, NEW_KEY = "old" * 12, "new" * 12
OLD, BOTH, NEW = KeyRing([OLD_KEY]), KeyRing([NEW_KEY, OLD_KEY]), KeyRing([NEW_KEY])
MANY = 120  # more than two transactions

vault = Table("vault", MetaData(), Column("id", Id, primary_key=True), Column("a", Encrypted), Column("b", Encrypted))


def row(number: int) -> UUID:
    return UUID(int=number)


@pytest.fixture
async def filled(db: Database) -> Database:
    """A table of two columns under the old key; every third row has no second secret."""
    rows = [
        {
            "id": row(n),
            "a": OLD.encrypt(vault.c.a, row(n), f"a{n}"),
            "b": OLD.encrypt(vault.c.b, row(n), f"b{n}") if n % 3 else None,
        }
        for n in range(MANY)
    ]
    await db.run_sync(vault.create)
    async with db.write() as tx:
        await tx.execute(insert(vault), rows)
    return db


async def rotate_all(db: Database, keys: KeyRing = BOTH) -> RotationResult:
    return await rotate(db, keys, [vault.c.a, vault.c.b])


async def ciphertexts(db: Database, column: Column) -> dict[UUID, Ciphertext]:
    async with db.read() as tx:
        return {each.id: each.it for each in await tx.execute(select(vault.c.id, column.label("it")))}


async def put(db: Database, number: int, value: Ciphertext) -> None:
    async with db.write() as tx:
        await tx.execute(update(vault).where(vault.c.id == row(number)).values(a=value))


async def test_reencrypts_all_secrets(filled: Database) -> None:
    done = await rotate_all(filled)
    assert (done.examined, done.changed, done.unreadable) == (MANY + 80, MANY + 80, [])
    for column in (vault.c.a, vault.c.b):
        for id_, value in (await ciphertexts(filled, column)).items():
            if value is not None:
                assert NEW.decrypt(column, id_, value) == f"{column.name}{id_.int}"
    assert sum(value is None for value in (await ciphertexts(filled, vault.c.b)).values()) == MANY - 80


async def test_a_second_run_changes_nothing(filled: Database) -> None:
    await rotate_all(filled)
    before = await ciphertexts(filled, vault.c.a)
    done = await rotate_all(filled)
    assert (done.examined, done.changed) == (MANY + 80, 0)
    assert await ciphertexts(filled, vault.c.a) == before


async def test_reports_values_that_no_key_decrypts(filled: Database) -> None:
    lost = KeyRing(["lost"]).encrypt(vault.c.a, row(7), "a7")
    await put(filled, 7, lost)
    done = await rotate_all(filled)
    assert done.unreadable == [(vault.c.a, row(7))]
    assert done.changed == MANY + 79
    assert (await ciphertexts(filled, vault.c.a))[row(7)] == lost


@pytest.mark.parametrize("keys", [OLD, BOTH], ids=["under the old key", "under the new key"])
async def test_reports_swapped_rows(filled: Database, keys: KeyRing) -> None:
    one, other = (keys.encrypt(vault.c.a, row(n), f"a{n}") for n in (7, 8))
    await put(filled, 7, other)
    await put(filled, 8, one)
    done = await rotate_all(filled)
    assert done.unreadable == [(vault.c.a, row(7)), (vault.c.a, row(8))]
    after = await ciphertexts(filled, vault.c.a)
    assert (after[row(7)], after[row(8)]) == (other, one)


class Interrupted(KeyRing):
    """Once, between the reading of a value and the writing of its successor, something else happens."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        super().__init__([NEW_KEY, OLD_KEY])
        self._meanwhile = [meanwhile]

    def encrypt(self, column: Column, row: UUID, text: str) -> Ciphertext:
        if self._meanwhile:
            self._meanwhile.pop()()
        return super().encrypt(column, row, text)


def elsewhere(url: str, statement) -> None:
    engine = create_engine(url.replace("postgresql", "postgresql+psycopg", 1))
    with engine.begin() as connection:
        connection.execute(statement)
    engine.dispose()


@pytest.mark.parametrize("keys", [OLD, BOTH], ids=["by a process with the old key", "by one with the new key"])
async def test_keeps_a_value_written_meanwhile(filled: Database, keys: KeyRing) -> None:
    newer = keys.encrypt(vault.c.a, row(7), "newer")
    change = update(vault).where(vault.c.id == row(7)).values(a=newer)
    done = await rotate_all(filled, Interrupted(lambda: elsewhere(filled.url, change)))
    assert (done.examined, done.unreadable) == (MANY + 80, [])
    assert NEW.decrypt(vault.c.a, row(7), (await ciphertexts(filled, vault.c.a))[row(7)]) == "newer"


async def test_does_not_restore_a_row_deleted_meanwhile(filled: Database) -> None:
    gone = vault.delete().where(vault.c.id == row(7))
    done = await rotate_all(filled, Interrupted(lambda: elsewhere(filled.url, gone)))
    assert (done.examined, done.unreadable) == (MANY + 78, [])
    assert row(7) not in await ciphertexts(filled, vault.c.a)


async def test_loses_nothing_while_others_write(filled: Database) -> None:
    """Processes that have the new key and some that still have not; what each wrote last is what is there."""
    last: dict[UUID, str] = {}
    over = asyncio.Event()

    async def keep_writing(numbers: range, keys: KeyRing) -> None:
        for turn, number in enumerate(itertools.cycle(numbers)):
            last[row(number)] = f"turn {turn}"
            await put(filled, number, keys.encrypt(vault.c.a, row(number), last[row(number)]))
            if over.is_set() and turn >= len(numbers):
                return

    writers = [asyncio.create_task(keep_writing(*each)) for each in ((range(40), OLD), (range(40, 80), BOTH))]
    done = await rotate_all(filled)
    over.set()
    await asyncio.gather(*writers)
    assert done.unreadable == []
    await rotate_all(filled)
    found = {id_: NEW.decrypt(vault.c.a, id_, value) for id_, value in (await ciphertexts(filled, vault.c.a)).items()}
    assert found == {row(n): f"a{n}" for n in range(MANY)} | last


def test_every_encrypted_column_is_found() -> None:
    assert webhooks.c.secret in encrypted_columns(metadata)
    assert encrypted_columns(vault.metadata) == [vault.c.a, vault.c.b]


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────────────────

RING = "2 keys of WAYPOST_SECRET_KEY"


@pytest.fixture
def waypost(tmp_path: Path, database_url: str) -> Waypost:
    made = Waypost(tmp_path)
    made.environment["WAYPOST_DATABASE_URL"] = database_url
    return made


def key_file(waypost: Waypost, text: str) -> Path:
    file = waypost.directory / "data" / "secret.key"
    file.parent.mkdir()
    file.write_text(text)
    return file


async def subscribe(db: Database, number: int, keys: KeyRing) -> None:
    known = {"id": row(number), "account_id": row(0), "url": "https://example.com/", "event_types": ["link.created"]}
    secret = keys.encrypt(webhooks.c.secret, row(number), f"whsec_{number}")
    async with db.write() as tx:
        await tx.execute(insert(webhooks), {**known, "secret": secret, "created_at": now(), "updated_at": now()})


async def test_the_command_reports_counts(waypost: Waypost, db: Database) -> None:
    for number in (1, 2, 3):
        await subscribe(db, number, OLD)
    done = waypost("secrets", "rotate", WAYPOST_SECRET_KEY=f"{NEW_KEY}, {OLD_KEY}")
    assert done.stderr == f"3 secrets examined with the {RING}; 3 re-encrypted, 0 unreadable.\n"
    done = waypost("secrets", "rotate", WAYPOST_SECRET_KEY=f"{NEW_KEY},{OLD_KEY}")
    assert done.stderr == f"3 secrets examined with the {RING}; 0 re-encrypted, 0 unreadable.\n"
    async with db.read() as tx:
        for each in await tx.execute(select(webhooks.c.id, webhooks.c.secret)):
            assert NEW.decrypt(webhooks.c.secret, each.id, each.secret) == f"whsec_{each.id.int}"


async def test_the_command_reports_unreadable_values(waypost: Waypost, db: Database) -> None:
    await subscribe(db, 1, KeyRing(["lost"]))
    await subscribe(db, 2, OLD)
    done = waypost("secrets", "rotate", code=1, WAYPOST_SECRET_KEY=f"{NEW_KEY},{OLD_KEY}")
    assert done.stderr == (
        f"webhooks {row(1)}: none of the {RING} decrypts its secret.\n"
        f"2 secrets examined with the {RING}; 1 re-encrypted, 1 unreadable.\n"
    )
    assert done.stdout == ""


async def test_uses_the_key_file(waypost: Waypost, db: Database) -> None:
    """Without the setting, `secret.key` holds the keys, the first one first."""
    await subscribe(db, 1, OLD)
    file = key_file(waypost, f"{NEW_KEY},{OLD_KEY}\n")
    message = f"1 secrets examined with the 2 keys of {file}; 1 re-encrypted, 0 unreadable.\n"
    assert waypost("secrets", "rotate").stderr == message


async def test_refuses_other_settings_than_the_service_s(waypost: Waypost, db: Database) -> None:
    """They have the new key; this shell finds only the old one, under which nothing is left to do."""
    await subscribe(db, 1, OLD)
    file = key_file(waypost, f"{OLD_KEY}\n")
    message = waypost("secrets", "rotate", code=1).stderr
    assert f"There is nothing to rotate: {file} has only one key" in message
    assert "examined" not in message


@pytest.mark.parametrize("keys", [NEW_KEY, f"{NEW_KEY}, {NEW_KEY}"], ids=["one", "one twice"])
async def test_refuses_a_single_key(waypost: Waypost, db: Database, keys: str) -> None:
    await subscribe(db, 1, NEW)
    message = waypost("secrets", "rotate", code=1, WAYPOST_SECRET_KEY=keys).stderr
    assert "There is nothing to rotate: WAYPOST_SECRET_KEY has only one key" in message
    assert "examined" not in message


async def test_creates_no_key(waypost: Waypost, db: Database) -> None:
    await subscribe(db, 1, OLD)
    message = waypost("secrets", "rotate", code=1).stderr
    assert f"{waypost.directory / 'data' / 'secret.key'} cannot be read: No such file" in message
    assert not (waypost.directory / "data").exists()


async def test_shows_progress_on_a_terminal(waypost: Waypost, db: Database) -> None:
    await subscribe(db, 1, OLD)
    screen, terminal = pty.openpty()
    environment = waypost.environment | {"TERM": "xterm", "WAYPOST_SECRET_KEY": f"{NEW_KEY},{OLD_KEY}"}
    subprocess.run([WAYPOST, "secrets", "rotate"], stderr=terminal, cwd=waypost.directory, env=environment, check=True)
    os.close(terminal)
    seen = os.read(screen, 1 << 16)
    os.close(screen)
    assert b"Re-encrypting" in seen
    assert b"1/1" in seen
