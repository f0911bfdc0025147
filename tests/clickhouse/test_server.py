"""What tests rely on when they use ClickHouse, through the client that the product uses."""

import asyncio
import datetime as dt
import uuid
from collections.abc import AsyncIterator

import clickhouse_connect
import pytest
import trustme
from clickhouse.server import ClickHouse, ClickHouseServer
from clickhouse_connect.driver.asyncclient import AsyncClient
from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError

TYPES = {
    "id": "UUID",
    "created_at": "DateTime64(6, 'UTC')",
    "country": "LowCardinality(String)",
    "referrer": "String",
    "city": "Nullable(String)",
    "visitor": "Int64",
    "kind": "UInt8",
    "is_bot": "Bool",
    "day": "Date",
}
ROW = [
    uuid.UUID("0192f5a0-0000-7000-8000-00000000ffff"),
    dt.datetime(2026, 10, 31, 23, 59, 59, 123456, tzinfo=dt.UTC),
    "",
    "https://example.com/'ü\\\n",
    None,
    -(2**63),
    255,
    True,
    dt.date(2026, 10, 31),
]
OTHER = [uuid.UUID(int=1), ROW[1], "de", "", "", 2**63 - 1, 0, False, ROW[8]]
EXACTLY_ONCE = {"deduplicate_blocks_in_dependent_materialized_views": 1, "async_insert": 0}
CREATE = "CREATE TABLE {} ({}) ENGINE = {} ORDER BY tuple() SETTINGS non_replicated_deduplication_window = 100"


async def connect(url: str, **options: object) -> AsyncClient:
    scheme = url.partition(":")[0]  # which the client doesn't read
    return await clickhouse_connect.get_async_client(dsn=url, interface=scheme, query_retries=0, **options)


@pytest.fixture
async def client(clickhouse: ClickHouse) -> AsyncIterator[AsyncClient]:
    async with await connect(clickhouse.url) as client:
        yield client


@pytest.fixture
async def numbers(client: AsyncClient) -> None:
    """A table `numbers` and its sums by parity in `sums`, both with deduplication."""
    await client.command(CREATE.format("numbers", "n UInt64", "MergeTree"))
    await client.command(CREATE.format("sums", "odd UInt8, total UInt64", "SummingMergeTree"))
    await client.command(
        "CREATE MATERIALIZED VIEW sums_view TO sums AS SELECT n % 2 AS odd, sum(n) AS total FROM numbers GROUP BY odd"
    )


async def insert(client: AsyncClient, values: list[int], token: str) -> None:
    settings = {**EXACTLY_ONCE, "insert_deduplication_token": token}
    await client.insert("numbers", [values], ["n"], column_oriented=True, settings=settings)


def stored(clickhouse: ClickHouse) -> list[int]:
    return clickhouse.sql("SELECT (SELECT sum(n) FROM numbers), (SELECT sum(total) FROM sums)")[0]


@pytest.mark.parametrize("compress", [False, "lz4", "zstd", "gzip"])
async def test_stores_values_of_all_types(clickhouse: ClickHouse, compress: bool | str) -> None:
    async with await connect(clickhouse.url, compress=compress) as client:
        columns = ", ".join(f"{name} {type_}" for name, type_ in TYPES.items())
        await client.command(CREATE.format("clicks", columns, "MergeTree"))
        summary = await client.insert("clicks", [ROW, OTHER], list(TYPES))
        assert summary.written_rows == 2
        result = await client.query("SELECT * FROM clicks ORDER BY visitor", tz_mode="aware")
        assert [list(row) for row in result.result_rows] == [ROW, OTHER]
        assert result.column_names == tuple(TYPES)
        assert (await client.query("SELECT * FROM clicks WHERE visitor = 0")).result_rows == []
        assert (await client.query("SELECT * FROM clicks LIMIT 0")).column_names == tuple(TYPES)
        async with await client.query_row_block_stream("SELECT number FROM numbers(200000)") as stream:
            assert sum([len(block) async for block in stream]) == 200_000


async def test_binds_parameters(client: AsyncClient) -> None:
    text = "it's\ta\\b\n'); DROP"
    query = "SELECT {text:String}, {numbers:Array(Int64)}, {at:DateTime64(6)}"
    result = await client.query(query, {"text": text, "numbers": [1, 2], "at_64": ROW[1]}, tz_mode="aware")
    assert result.result_rows == [(text, [1, 2], ROW[1])]


async def test_applies_settings_to_one_request(client: AsyncClient) -> None:
    query = "SELECT getSetting('max_threads')"
    assert await client.command(query, settings={"max_threads": 7}) == 7
    assert await client.command(query) != 7


async def test_keeps_temporary_tables_of_a_session(clickhouse: ClickHouse) -> None:
    async with await connect(clickhouse.url, session_id=uuid.uuid4().hex) as client:
        await client.command("CREATE TEMPORARY TABLE passing (n Int64)")
        await client.command("INSERT INTO passing VALUES (1), (2)", settings={"max_threads": 1})
        assert await client.command("SELECT sum(n) FROM passing") == 3


async def test_runs_requests_in_parallel(client: AsyncClient) -> None:
    async with asyncio.timeout(15):  # one after the other, they take longer
        await asyncio.gather(*[client.query(f"SELECT sleep(1), {n}") for n in range(16)])


async def test_answers_raw_queries_and_inserts(client: AsyncClient, numbers: None) -> None:
    await client.raw_insert("numbers", ["n"], b"1\n2\n", fmt="CSV")
    assert await client.raw_query("SELECT n FROM numbers ORDER BY n", fmt="JSONEachRow") == b'{"n":1}\n{"n":2}\n'
    assert await client.ping()


@pytest.mark.parametrize(
    ("query", "code", "name"),
    [
        ("SELECT * FROM missing", 60, "UNKNOWN_TABLE"),
        ("SELECT missing", 47, "UNKNOWN_IDENTIFIER"),
        ("SELECT 1 FROM", 62, "SYNTAX_ERROR"),
        ("INSERT INTO missing VALUES (1)", 60, "UNKNOWN_TABLE"),
        ("INSERT INTO numbers FORMAT CSV\nx\n", 117, "INCORRECT_DATA"),
        ("SELECT 1 SETTINGS missing = 1", 115, "UNKNOWN_SETTING"),
    ],
)
async def test_reports_errors_of_the_engine(
    client: AsyncClient, numbers: None, query: str, code: int, name: str
) -> None:
    with pytest.raises(DatabaseError) as raised:
        await client.command(query)
    assert (raised.value.code, raised.value.name) == (code, name)
    assert f"Code: {code}. DB::Exception: " in str(raised.value)


async def test_refuses_a_wrong_password_and_a_missing_database(clickhouse: ClickHouse) -> None:
    with pytest.raises(DatabaseError) as raised:
        await connect(clickhouse.url.replace("secret", "wrong"))
    assert raised.value.code == 516
    with pytest.raises(DatabaseError) as raised:
        await connect(clickhouse.url + "_missing")
    assert raised.value.code == 81


async def test_counts_a_million_rows_once(clickhouse: ClickHouse, client: AsyncClient, numbers: None) -> None:
    for _ in range(2):
        await insert(client, list(range(1_000_000)), "a")
    assert stored(clickhouse) == [499_999_500_000] * 2
    assert await client.command("SELECT count() FROM numbers") == 1_000_000


async def test_drops_a_repeated_token_also_after_a_crash(
    clickhouse: ClickHouse, client: AsyncClient, numbers: None
) -> None:
    await insert(client, [1, 2], "a")
    await insert(client, [1, 2, 3], "a")
    assert stored(clickhouse) == [3, 3]
    clickhouse.kill()
    clickhouse.start()
    await insert(client, [1, 2, 3, 4], "a")
    assert stored(clickhouse) == [3, 3]
    await insert(client, [4], "b")
    assert stored(clickhouse) == [7, 7]


async def test_a_crash_can_store_the_token_without_its_rows(
    clickhouse: ClickHouse, client: AsyncClient, numbers: None
) -> None:
    await insert(client, [1, 2], "a")
    await insert(client, [3], "b")
    clickhouse.lose_last_part("numbers")
    assert stored(clickhouse) == [3, 6]
    await insert(client, [3], "b")
    assert stored(clickhouse) == [3, 6]


@pytest.mark.parametrize("fault", ["close", "truncate", "error", "kill"])
async def test_loses_the_answer_to_an_insert(
    clickhouse: ClickHouse, client: AsyncClient, numbers: None, fault: str
) -> None:
    getattr(clickhouse.faults, fault)("INSERT", **({} if fault in {"truncate", "close"} else {"executed": True}))
    try:
        await insert(client, [1, 2], "a")
    except DatabaseError:
        clickhouse.start()
        assert stored(clickhouse) == [3, 3]
        await insert(client, [1, 2], "a")
    else:
        assert fault in {"truncate", "close"}  # after which the client repeats an insert by itself
    assert stored(clickhouse) == [3, 3]
    first, second = clickhouse.requests("INSERT")
    assert (first.token, first.fault, first.executed, second.fault) == ("a", fault, True, None)
    assert first.status == (500 if fault == "error" else None)


@pytest.mark.parametrize("fault", ["close", "error", "kill"])
async def test_fails_before_an_insert(clickhouse: ClickHouse, client: AsyncClient, numbers: None, fault: str) -> None:
    getattr(clickhouse.faults, fault)("INSERT", executed=False, **({"times": None} if fault == "close" else {}))
    with pytest.raises(DatabaseError):
        await insert(client, [1, 2], "a")
    clickhouse.start()
    assert stored(clickhouse) == [0, 0]


async def test_truncates_an_answer(clickhouse: ClickHouse, client: AsyncClient) -> None:
    clickhouse.faults.truncate("SELECT")
    with pytest.raises(OperationalError):
        await client.query("SELECT number FROM numbers(1000)")


@pytest.mark.parametrize("executed", [False, True])
async def test_hangs_until_cleared(clickhouse: ClickHouse, client: AsyncClient, numbers: None, executed: bool) -> None:
    clickhouse.faults.hang("INSERT", executed=executed)
    hanging = asyncio.create_task(insert(client, [1], "a"))
    await asyncio.to_thread(clickhouse.wait_for_fault)
    assert not hanging.done()
    assert stored(clickhouse) == [executed, executed]
    clickhouse.faults.clear()
    await hanging  # the client repeats it
    assert stored(clickhouse) == [1, 1]


async def test_delays(clickhouse: ClickHouse, client: AsyncClient, numbers: None) -> None:
    clickhouse.faults.delay(60, "INSERT", executed=True)
    delayed = asyncio.create_task(insert(client, [1], "a"))
    await asyncio.to_thread(clickhouse.wait_for_fault)
    assert not delayed.done()
    delayed.cancel()
    clickhouse.faults.delay(0.01, "INSERT")
    await insert(client, [2], "b")


async def test_refuses_connections(clickhouse: ClickHouse, client: AsyncClient) -> None:
    clickhouse.faults.refuse()
    with pytest.raises(OperationalError, match="Cannot connect"):
        await client.command("SELECT 1")
    assert not await client.ping()
    clickhouse.faults.accept()
    assert await client.command("SELECT 1") == 1
    clickhouse.kill()
    with pytest.raises(OperationalError):
        await client.command("SELECT 1")


async def test_repeats_a_fault_for_what_it_names(clickhouse: ClickHouse, client: AsyncClient, numbers: None) -> None:
    clickhouse.faults.error("INSERT INTO .numbers", times=None, code=242, message="Table is read-only", status=503)
    for _ in range(2):
        with pytest.raises(DatabaseError) as raised:
            await insert(client, [1], "a")
        assert raised.value.code == 242
    assert await client.command("SELECT count() FROM numbers") == 0
    clickhouse.faults.clear()
    await insert(client, [1], "a")


async def test_speaks_https(tmp_path: pytest.TempPathFactory) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    server = ClickHouseServer(tmp_path, tmp_path / "server.pem")
    server.start()
    try:
        async with await connect(server.url("default"), ca_cert=str(tmp_path / "ca.pem")) as client:
            assert await client.command("SELECT 1") == 1
        with pytest.raises(OperationalError, match="certificate"):
            await connect(server.url("default"))
    finally:
        server.stop()
