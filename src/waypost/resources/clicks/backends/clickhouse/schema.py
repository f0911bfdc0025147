"""Creates, upgrades and checks the tables on the ClickHouse server."""
# ruff: noqa: S608  # these statements consist of constants

import re
from collections.abc import Iterator
from pathlib import Path

from waypost.database.schema import LAST_BEFORE_BASELINE
from waypost.kit.errors import WaypostError
from waypost.resources.clicks.backends.clickhouse.client import INSERT_SETTINGS, ClickHouse, ClickStoreUnavailable

_MIGRATIONS = Path(__file__).parent / "migrations"
_MIN_VERSION = (24, 8)
"""The first with deduplication by token in materialized views."""
_COMPATIBLE_SINCE = 2
"""The oldest schema whose version of Waypost works on the newest one: see `database.schema.COMPATIBLE_SINCE`."""
_WINDOW = 10_000
"""Insertions of which a table remembers the tokens. A batch is repeated before the next one, so it needs one."""
_WINDOW_SECONDS = 604_800
_DEDUPLICATION = {
    "": f"non_replicated_deduplication_window = {_WINDOW}",
    "Replicated": (
        f"replicated_deduplication_window = {_WINDOW}, replicated_deduplication_window_seconds = {_WINDOW_SECONDS}"
    ),
}
_TABLES = ("clicks", "click_counts", "click_dimensions")
_UNKNOWN_DATABASE, _UNKNOWN_TABLE, _WRONG_PASSWORD = 81, 60, 516


class ClickHouseUnusable(WaypostError):
    """The ClickHouse server cannot be used."""


class ClickHouseAway(ClickHouseUnusable):
    """The ClickHouse server does not respond."""


async def migrate(client: ClickHouse, cluster: str = "") -> tuple[int, int]:
    """Create or upgrade the tables. Return (version before, version after). Raises ClickHouseUnusable.

    Statements are repeated when a migration was interrupted, so each of them must be repeatable. Tables of a newer
    version that this one can use stay as they are.
    """
    await _check_server(client)
    on_cluster = f"ON CLUSTER '{cluster}'" if cluster else ""
    texts = {"on_cluster": on_cluster, "replicated": "Replicated" if cluster else ""}
    texts["deduplication"] = _DEDUPLICATION[texts["replicated"]]
    await client.command(
        f"CREATE TABLE IF NOT EXISTS schema_version {on_cluster}"
        " (version UInt32, compatible_since UInt32, applied_at DateTime DEFAULT now())"
        f" ENGINE = {texts['replicated']}MergeTree ORDER BY version"
    )
    before, compatible_since = await _find_version(client)
    if compatible_since > newest():
        raise _newer_version(client, before)
    if before and before < min(version for version, _ in _migrations()):
        raise ClickHouseUnusable(
            f"The ClickHouse database {_name(client)} has schema {before}, which is too old for this version: run"
            f" `waypost migrate` of commit {LAST_BEFORE_BASELINE} first."
        )
    for version, path in _migrations():
        if version > before:
            for statement in _statements(path):
                await client.command(statement.format(**texts))
            await client.command(
                f"INSERT INTO schema_version (version, compatible_since) VALUES ({version}, {_COMPATIBLE_SINCE})"
            )
    return before, max(before, newest())


async def check(client: ClickHouse, *, may_be_away: bool = False) -> None:
    """Raise ClickHouseUnusable with what is wrong and what to do, or ClickStoreUnavailable if nothing responds.

    `may_be_away`: not if the server does not respond, which its client has logged.
    """
    try:
        await _check_server(client)
        await _check_schema(client)
    except (ClickHouseAway, ClickStoreUnavailable) as error:
        if not may_be_away or (isinstance(error, ClickStoreUnavailable) and error.code):
            raise


async def _check_schema(client: ClickHouse) -> None:
    version, compatible_since = await _find_version(client)
    if compatible_since > newest():
        raise _newer_version(client, version)
    if version < newest():
        raise ClickHouseUnusable(
            f"The ClickHouse database {_name(client)} has schema {version}, this version needs {newest()}."
            " Run: waypost migrate"
        )
    await _check_tables(client)


async def _find_version(client: ClickHouse) -> tuple[int, int]:
    """Return (version, version that it is compatible since): zeros if there is no schema yet."""
    try:
        rows = await client.query("SELECT max(version), argMax(compatible_since, version) FROM schema_version")
    except ClickStoreUnavailable as error:
        if error.code == _UNKNOWN_TABLE:
            return 0, 0
        raise
    ((version, compatible_since),) = rows
    return int(version), int(compatible_since)


def newest() -> int:
    return max(version for version, _ in _migrations())


def _migrations() -> Iterator[tuple[int, Path]]:
    for path in sorted(_MIGRATIONS.glob("[0-9]*.sql")):
        yield int(path.name.partition("_")[0]), path


def _statements(path: Path) -> Iterator[str]:
    without_comments = re.sub(r"^--.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for statement in without_comments.split(";"):
        if text := statement.strip():
            yield re.sub(r"^CREATE (TABLE|MATERIALIZED VIEW) ", r"CREATE \1 IF NOT EXISTS ", text)


async def _check_server(client: ClickHouse) -> None:
    try:
        ((version,),) = await client.query("SELECT version()")
    except ClickStoreUnavailable as error:
        if error.code == _UNKNOWN_DATABASE:
            name = client.address.database
            advice = f"Create it with: CREATE DATABASE {name}"
            raise ClickHouseUnusable(
                f"There is no database {name} on the ClickHouse server {client.address.location}. {advice}"
            ) from None
        if error.code == _WRONG_PASSWORD:
            raise ClickHouseUnusable(
                f"The ClickHouse server {client.address.location} refuses user or password of WAYPOST_CLICKHOUSE_URL."
            ) from None
        if not error.code:
            advice = "Check WAYPOST_CLICKHOUSE_URL, and that the server runs"
            if "certificate" in error.details:
                advice += "; WAYPOST_OUTBOUND_CA_FILE adds certificates that are trusted"
                raise ClickHouseUnusable(f"{error.details}. {advice}.") from None
            raise ClickHouseAway(f"{error.details}. {advice}.") from None
        raise
    if tuple(map(int, str(version).split(".")[:2])) < _MIN_VERSION:
        required = ".".join(map(str, _MIN_VERSION))
        raise ClickHouseUnusable(
            f"The ClickHouse server {client.address.location} has version {version}; Waypost needs {required} or newer."
        )


async def _check_tables(client: ClickHouse) -> None:
    rows = await client.query(
        "SELECT name, engine, create_table_query FROM system.tables WHERE database = currentDatabase()"
    )
    tables = {name: (engine, statement) for name, engine, statement in rows}
    expected = {name for _, path in _migrations() for name in _created(path)}
    if missing := sorted(expected - tables.keys()):
        raise ClickHouseUnusable(
            f"The ClickHouse database {_name(client)} lacks {', '.join(missing)}. Restore a backup, or use an empty"
            " database and run: waypost migrate"
        )
    for name in _TABLES:
        engine, statement = tables[name]
        setting = "replicated_deduplication_window" if "Replicated" in engine else "non_replicated_deduplication_window"
        if re.search(rf"\b{setting} = [1-9]", statement) is None:
            raise ClickHouseUnusable(
                f"The ClickHouse table {name} has deduplication switched off, so that a repeated batch would count"
                f" twice. Run: ALTER TABLE {name} MODIFY SETTING {setting} = {_WINDOW}"
            )
    settings = ", ".join(f"'{name}'" for name in INSERT_SETTINGS)
    rows = await client.query(f"SELECT name FROM system.settings WHERE name IN ({settings}) AND readonly = 1")
    if rows:
        names = ", ".join(sorted(name for (name,) in rows))
        raise ClickHouseUnusable(f"The ClickHouse user may not change the settings {names}. Allow it in its profile.")


def _created(path: Path) -> list[str]:
    return re.findall(r"^CREATE (?:TABLE|MATERIALIZED VIEW) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)


def _newer_version(client: ClickHouse, version: int) -> ClickHouseUnusable:
    return ClickHouseUnusable(
        f"The ClickHouse database {_name(client)} has schema {version} of a newer version of Waypost: run that version."
    )


def _name(client: ClickHouse) -> str:
    return f"{client.address.database} on {client.address.location}"
