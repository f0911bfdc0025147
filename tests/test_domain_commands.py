"""`waypost domain`, as an operator runs it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from forked import alone
from people import new_person
from test_cli import Waypost

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.domains import store
from waypost.resources.domains.model import Domain

AT = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
async def waypost(tmp_path: Path, sqlite_template: Path) -> Waypost:
    """Alice has a verified domain and an unverified one."""
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "waypost.db").write_bytes(sqlite_template.read_bytes())
    db = Database(f"sqlite:///{tmp_path / 'data' / 'waypost.db'}")
    alice = await new_person(db, "alice")
    async with db.write() as tx:
        for name, is_served in (("live.test", True), ("go.brand.test", False)):
            nothing = dict.fromkeys(
                ["last_checked_at", "error", "root_url", "not_found_url", "tls_expires_at", "tls_error"]
            )
            await store.add(
                tx,
                Domain(
                    id=new_id(),
                    account_id=alice.account_id,
                    hostname=name,
                    token="waypost-1",
                    needs_txt=False,
                    status="verified" if is_served else "pending",
                    is_served=is_served,
                    verified_at=AT if is_served else None,
                    failures=0,
                    unverified_since=None if is_served else AT,
                    links_count=0,
                    tls_status="none",
                    created_at=AT,
                    updated_at=AT,
                    **nothing,
                ),
            )
    await db.close()
    return Waypost(tmp_path)


def test_lists_and_releases_domains(waypost: Waypost) -> None:
    listed = waypost.json("domain", "list", by=alone)
    assert [(each["hostname"], each["is_live"]) for each in listed] == [("go.brand.test", False), ("live.test", True)]
    assert {each["account"] for each in listed} == {"alice@example.com"}
    assert "go.brand.test" in waypost("domain", "list").stdout
    done = waypost("domain", "release", "GO.brand.test", by=alone)
    assert (done.stdout, done.stderr[:23]) == ("", "Released go.brand.test.")
    assert "--force" in waypost("domain", "release", "live.test", code=1).stderr
    assert "Any waiting period for it has ended" in waypost("domain", "release", "go.brand.test").stderr
    assert "go.brand.test is not registered" in waypost("domain", "release", "go.brand.test", code=1).stderr
    waypost("domain", "release", "live.test", "--force")
    assert waypost.json("domain", "list") == []
