"""A ClickHouse server that cannot be used is refused with one sentence that says what to do, before anything starts."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
from clickhouse.server import ClickHouseServer

from waypost.commands.database import check_click_store
from waypost.commands.doctor import examine
from waypost.kit.errors import WaypostError
from waypost.resources.clicks.backends.clickhouse import schema
from waypost.resources.clicks.backends.clickhouse.client import ClickHouse
from waypost.settings import Settings


@pytest.fixture
async def client(clickhouse: Any) -> AsyncIterator[ClickHouse]:
    opened = ClickHouse(clickhouse.url)
    await schema.migrate(opened)
    yield opened
    await opened.close()


def settings_of(url: str, **more: Any) -> Settings:
    return Settings(clickhouse_url=url, database_url="postgresql://waypost@127.0.0.1:1/none", **more)


async def refusal(url: str) -> str:
    """The message, which has no secret."""
    with pytest.raises(WaypostError) as refused:
        await check_click_store(settings_of(url))
    assert "secret" not in refused.value.details
    assert "\n" not in refused.value.details
    return refused.value.details


async def test_accepts_migrated_tables(clickhouse: Any, client: ClickHouse) -> None:
    await check_click_store(settings_of(clickhouse.url))
    assert await schema.migrate(client) == (schema.newest(), schema.newest())


async def test_needs_a_migration(clickhouse: Any) -> None:
    assert (await refusal(clickhouse.url)).endswith(f"needs {schema.newest()}. Run: waypost migrate")


async def test_refuses_tables_older_than_the_first_migration(clickhouse: Any, client: ClickHouse) -> None:
    clickhouse.sql("TRUNCATE TABLE schema_version")
    clickhouse.sql("INSERT INTO schema_version (version, compatible_since) VALUES (1, 1)")
    with pytest.raises(WaypostError, match="has schema 1, which is too old for this version: run `waypost migrate`"):
        await schema.migrate(client)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT INTO schema_version (version, compatible_since) VALUES (99, 99)", "has schema 99 of a newer version"),
        ("DROP TABLE click_dimensions", "lacks click_dimensions"),
        ("DROP VIEW click_counts_of_clicks", "lacks click_counts_of_clicks"),
        (
            "ALTER TABLE click_counts MODIFY SETTING non_replicated_deduplication_window = 0",
            "ALTER TABLE click_counts MODIFY SETTING",
        ),
    ],
)
async def test_refuses_other_tables(clickhouse: Any, client: ClickHouse, statement: str, message: str) -> None:
    clickhouse.sql(statement)
    assert message in await refusal(clickhouse.url)


async def test_refuses_an_old_server(clickhouse: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_MIN_VERSION", (99, 1))
    assert "Waypost needs 99.1 or newer" in await refusal(clickhouse.url)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda url: url.replace(":secret@", ":wrong@"), "refuses user or password of WAYPOST_CLICKHOUSE_URL"),
        (lambda url: f"{url}x", "Create it with: CREATE DATABASE"),
        (lambda url: url.replace("http:", "https:"), "TLS fails: "),
    ],
    ids=["password", "database", "no TLS"],
)
async def test_refuses_a_wrong_url(clickhouse: Any, change: Callable[[str], str], message: str) -> None:
    assert message in await refusal(change(clickhouse.url))


async def test_refuses_a_server_that_does_not_run() -> None:
    url = "http://waypost:secret@127.0.0.1:1/waypost"
    assert "127.0.0.1:1: Connection refused. Check WAYPOST_CLICKHOUSE_URL" in await refusal(url)


async def test_a_node_starts_without_a_server_that_does_not_run(clickhouse: Any) -> None:
    await check_click_store(settings_of("http://waypost:secret@127.0.0.1:1/waypost"), may_be_away=True)
    with pytest.raises(schema.ClickHouseUnusable, match="refuses user or password"):
        await check_click_store(settings_of(clickhouse.url.replace(":secret@", ":wrong@")), may_be_away=True)


async def test_verifies_the_certificate(tmp_path: Path) -> None:
    certificate = tmp_path / "certificate.pem"
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
    (tmp_path / "data").mkdir()
    server = ClickHouseServer(tmp_path / "data", certificate)
    server.start()
    try:
        assert "TLS certificate cannot be verified: unable" in await refusal(server.url("default"))
        authority.cert_pem.write_to_path(tmp_path / "ca.pem")
        with pytest.raises(schema.ClickHouseUnusable, match="waypost migrate"):
            await check_click_store(settings_of(server.url("default"), outbound_ca_file=tmp_path / "ca.pem"))
    finally:
        server.stop()


async def test_the_doctor_examines_clickhouse(clickhouse: Any, client: ClickHouse) -> None:
    async def found() -> dict[str, tuple[str, str]]:
        findings = await examine(settings_of(clickhouse.url))
        return {each.check: (each.state, each.message + each.advice) for each in findings}

    findings = await found()
    assert findings["ClickHouse"][0] == findings["duplicate clicks"][0] == "ok"
    clickhouse.sql("DROP TABLE click_dimensions")
    state, message = (await found())["ClickHouse"]
    assert state == "failed"
    assert "lacks click_dimensions" in message
