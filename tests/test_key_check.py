"""All nodes have one secret key: a node with another, or with none, refuses to start and says what to do."""

import asyncio
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import func, select
from test_cli import Waypost
from test_secret_rotation import subscribe

from waypost.commands.doctor import examine
from waypost.commands.key_check import prepare_key
from waypost.database import Database, KeyRing, find_key_fingerprint
from waypost.database.key_fingerprint import secret_key_fingerprint
from waypost.secret_key import FILE, fingerprints
from waypost.settings import Settings, SettingsError

OLD, NEW, OTHER = "old" * 12, "new" * 12, "other" * 12


def node(directory: Path, key: str = "", **settings: object) -> Settings:
    return Settings(data_dir=directory, secret_key=SecretStr(key) if key else None, **settings)


async def starts(db: Database, settings: Settings, role: str = "all") -> str:
    """What it says in place of starting; nothing if it starts."""
    try:
        await prepare_key(db, settings, role)
    except SettingsError as error:
        return str(error)
    return ""


async def stored(db: Database) -> bytes | None:
    async with db.read() as tx:
        return await find_key_fingerprint(tx)


def fingerprint(key: str) -> bytes:
    return fingerprints(Settings(secret_key=SecretStr(key)))[0]


async def test_the_first_node_stores_the_fingerprint_of_its_key(db: Database, tmp_path: Path) -> None:
    assert await starts(db, node(tmp_path, OLD)) == ""
    assert await stored(db) == fingerprint(OLD)
    assert await starts(db, node(tmp_path / "b", OLD), "worker") == ""
    for role in ("all", "web", "worker", "redirect"):
        problem = await starts(db, node(tmp_path / "b", OTHER), role)
        assert problem.startswith("WAYPOST_SECRET_KEY is not the key that the secrets in the database are encrypted")
        assert "Copy the key of the other nodes, or of the backup, to WAYPOST_SECRET_KEY or" in problem
        assert OLD not in problem
        assert OTHER not in problem
    assert await stored(db) == fingerprint(OLD)


async def test_a_key_file_is_checked_too(db: Database, tmp_path: Path) -> None:
    assert await starts(db, node(tmp_path / "a")) == ""
    (tmp_path / "b").mkdir()
    file = tmp_path / "b" / FILE
    file.write_text(OTHER)
    assert (await starts(db, node(tmp_path / "b"))).startswith(f"{file} is not the key that")
    file.write_text((tmp_path / "a" / FILE).read_text())
    assert await starts(db, node(tmp_path / "b")) == ""


async def test_creates_no_key_where_others_have_one(db: Database, tmp_path: Path) -> None:
    """A data directory that was copied without its key, or a further node."""
    await starts(db, node(tmp_path, OLD))
    problem = await starts(db, node(tmp_path / "b"))
    assert problem.startswith(f"There is no secret key: WAYPOST_SECRET_KEY is not set, and {tmp_path / 'b' / FILE}")
    assert not (tmp_path / "b").exists()


async def test_of_nodes_that_start_at_once_one_wins(db: Database, tmp_path: Path) -> None:
    nodes = [node(tmp_path / str(number)) for number in range(4)]
    problems = await asyncio.gather(*(starts(db, each) for each in nodes))
    assert sorted(map(bool, problems)) == [False, True, True, True]
    winner = nodes[problems.index("")]
    assert await stored(db) == fingerprint((winner.data_dir / FILE).read_text().strip())
    async with db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(secret_key_fingerprint)) == 1


async def test_a_rotation(waypost: Waypost, db: Database, tmp_path: Path) -> None:
    await starts(db, node(tmp_path, OLD))
    await subscribe(db, 1, KeyRing([OLD]))
    for keys in (f"{OLD},{NEW}", f"{NEW},{OLD}", OLD):
        assert await starts(db, node(tmp_path, keys)) == ""
    assert "keep the old key until `waypost secrets rotate` has run" in await starts(db, node(tmp_path, NEW))
    waypost("secrets", "rotate", WAYPOST_SECRET_KEY=f"{NEW},{OLD}")
    for keys in (f"{NEW},{OLD}", NEW):
        assert await starts(db, node(tmp_path, keys)) == ""
    assert await starts(db, node(tmp_path, OLD)) != ""


@pytest.fixture
def waypost(tmp_path: Path, database_url: str) -> Waypost:
    made = Waypost(tmp_path)
    made.environment["WAYPOST_DATABASE_URL"] = database_url
    return made


async def test_rotation_refuses_foreign_keys(waypost: Waypost, db: Database, tmp_path: Path) -> None:
    await starts(db, node(tmp_path, OLD))
    await subscribe(db, 1, KeyRing([OLD]))
    message = waypost("secrets", "rotate", code=2, WAYPOST_SECRET_KEY=f"{NEW},{OTHER}").stderr
    assert message.startswith("WAYPOST_SECRET_KEY is not the key that")
    assert await stored(db) == fingerprint(OLD)


async def test_a_lost_key_can_be_replaced(waypost: Waypost, db: Database, tmp_path: Path) -> None:
    await starts(db, node(tmp_path, OLD))
    await subscribe(db, 1, KeyRing([OLD]))
    done = waypost("secrets", "rotate", "--old-key-lost", code=1, WAYPOST_SECRET_KEY=NEW)
    assert done.stderr.endswith(
        "1 secrets examined with the 1 key of WAYPOST_SECRET_KEY; 0 re-encrypted, 1 unreadable.\n"
    )
    assert await starts(db, node(tmp_path, NEW)) == ""


# ── roles, and the commands ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_redirect_node_needs_no_key(db: Database, tmp_path: Path) -> None:
    assert await starts(db, node(tmp_path / "b"), "redirect") == ""
    assert await starts(db, node(tmp_path / "b", OTHER), "redirect") == ""
    assert (await stored(db), (tmp_path / "b").exists()) == (None, False)
    await starts(db, node(tmp_path, OLD))
    assert await starts(db, node(tmp_path / "b"), "redirect") == ""
    assert await starts(db, node(tmp_path / "b", OLD), "redirect") == ""
    assert await starts(db, node(tmp_path / "b", OTHER), "redirect") != ""


async def test_a_redirect_node_needs_the_key_for_tls(db: Database, tmp_path: Path) -> None:
    await starts(db, node(tmp_path, OLD))
    problem = await starts(db, node(tmp_path / "b", tls=True), "redirect")
    assert problem.startswith(
        "--tls needs the secret key, which encrypts certificates. Copy the key of the other nodes"
    )
    assert await starts(db, node(tmp_path / "b", OLD, tls=True), "redirect") == ""


async def test_the_doctor_finds_another_key(db: Database, database_url: str, tmp_path: Path) -> None:
    await starts(db, node(tmp_path, OLD))
    findings = {
        key: {finding.check: finding for finding in await examine(node(tmp_path, key, database_url=database_url))}
        for key in (OLD, OTHER)
    }
    assert findings[OLD]["key of secrets"].state == "ok"
    wrong = findings[OTHER]["key of secrets"]
    assert (wrong.state, wrong.message.startswith("WAYPOST_SECRET_KEY is not the key")) == ("failed", True)
    assert wrong.advice.startswith("Copy the key of the other nodes")


async def test_serve_refuses_another_key(waypost: Waypost, db: Database, tmp_path: Path) -> None:
    await starts(db, node(tmp_path, OLD))
    for role in ("all", "redirect", "worker"):
        done = waypost("serve", "--role", role, code=2, WAYPOST_SECRET_KEY=OTHER)
        assert done.stderr.startswith("WAYPOST_SECRET_KEY is not the key that the secrets in the database are")
        assert done.stderr.count("\n") == 1
    done = waypost("serve", code=2)
    assert done.stderr.startswith(
        "There is no secret key: WAYPOST_SECRET_KEY is not set, and data/secret.key is missing"
    )
    assert not (tmp_path / "data" / FILE).exists()
