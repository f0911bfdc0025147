"""The API behind its real server: what only a socket shows."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import structlog
import uvicorn
from endpoints import THING, THINGS
from people import KEY_RING, Person, new_person

from waypost.accounts import open_limiters
from waypost.database import Database
from waypost.web import Guard, new_api


@contextlib.asynccontextmanager
async def serving(db: Database, data_dir: Path) -> AsyncIterator[httpx.AsyncClient]:
    limiters = open_limiters(db, data_dir)
    app = new_api(Guard(db, limiters, KEY_RING, base_url="http://app.test"), [THINGS])
    config = uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", log_config=None, proxy_headers=False)
    server = uvicorn.Server(config)
    started = asyncio.Event()
    startup = server.startup

    async def tell_startup(*arguments: object, **named: object) -> None:
        await startup(*arguments, **named)
        started.set()

    server.startup = tell_startup
    running = asyncio.create_task(server._serve())
    await started.wait()
    port = server.servers[0].sockets[0].getsockname()[1]
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        yield client
    server.should_exit = True
    await running
    await limiters.close()


@pytest.fixture
async def alice(db: Database) -> Person:
    return await new_person(db, "alice")


async def test_serves_a_request_over_a_socket(db: Database, tmp_path: Path, alice: Person) -> None:
    async with serving(db, tmp_path) as client:
        answer = await client.get(THING, headers=alice.headers)
    assert (answer.status_code, answer.headers["X-RateLimit-Remaining"]) == (200, "59")


async def test_logs_an_unexpected_error_once(
    db: Database, tmp_path: Path, alice: Person, caplog: pytest.LogCaptureFixture
) -> None:
    with structlog.testing.capture_logs() as logs:
        async with serving(db, tmp_path) as client:
            answer = await client.get("/api/v1/broken", headers=alice.headers)
    assert answer.status_code == 500
    assert len(logs) == 1
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    assert alice.key not in str(logs) + caplog.text


@pytest.mark.parametrize("size", [(1 << 20) + 1, 8 << 20])
async def test_a_too_large_body_gets_413(db: Database, tmp_path: Path, alice: Person, size: int) -> None:
    async with serving(db, tmp_path) as client:
        answer = await client.post("/api/v1/things", headers=alice.headers, content=b" " * size)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "http_error")


async def test_a_disconnect_is_not_an_error(db: Database, tmp_path: Path, alice: Person) -> None:
    with structlog.testing.capture_logs() as logs:
        async with serving(db, tmp_path) as client:
            _, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
            head = f"POST /api/v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {alice.key}\r\n"
            writer.write(f"{head}Content-Length: 100\r\n\r\n{{".encode())
            await writer.drain()
            writer.transport.abort()
            assert (await client.get(THING, headers=alice.headers)).status_code == 200
    assert not logs
