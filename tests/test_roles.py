"""`waypost serve --role …`: what each role answers, and what it does not."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest
from journeys.service import Service, Website, eventually
from people import new_person
from sqlalchemy import text

from waypost.app import run_worker
from waypost.database import Database
from waypost.redirect_app import open_redirect_app
from waypost.settings import Settings
from waypost.web_app import open_full_app

PROBES = ("/healthz", "/readyz", "/metrics")
NOT_THEIRS = (
    "/",
    "/api/v1/me",
    "/api/openapi.json",
    "/docs",
    "/login",
    "/links",
    "/static/app.css",
    "/media/none.png",
    "/robots.txt",
    "/favicon.ico",
    "/internal/tls?domain=example.com",
    "/.well-known/acme-challenge/token",
    "/nothing",
)


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    return Settings(
        data_dir=tmp_path / "data",
        database_url=database_url,
        base_url="http://app.test",
        outbound_allow=[ip_network("127.0.0.0/8")],
        secret_key="a key",
    )


def client_of(app) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 1234))
    return httpx.AsyncClient(transport=transport, base_url="http://app.test")


async def test_a_redirect_process_serves_redirects_and_probes_only(settings: Settings) -> None:
    settings.data_dir.mkdir()
    with Website() as page:
        async with open_full_app(settings) as web, client_of(web.app) as client:
            alice = await new_person(web.db, "alice", now=datetime.now(UTC))
            link = {"destination_url": page.url, "slug": "hello"}
            made = await client.post("/api/v1/links", headers={"Authorization": f"Bearer {alice.key}"}, json=link)
            assert made.status_code == 201, made.text
        async with open_redirect_app(settings) as web, client_of(web.app) as client:
            visit = await client.get("/hello")
            assert (visit.status_code, visit.headers["location"]) == (302, page.url)
            for path in PROBES:
                assert (await client.get(path)).status_code == 200, path
            for path in NOT_THEIRS[:-1]:
                answer = await client.get(path)
                assert (answer.status_code, answer.content) == (404, b""), path
            missing = await client.get("/nothing")
            assert (missing.status_code, "text/html" in missing.headers["content-type"]) == (404, True)
            refused = await client.post("/healthz")
            allowed = set(refused.headers["allow"].split(", "))
            assert (refused.status_code, allowed, refused.content) == (405, {"GET", "HEAD"}, b"")


async def test_metrics_are_for_trusted_peers_only(settings: Settings) -> None:
    settings.data_dir.mkdir()
    async with open_redirect_app(settings) as web:
        transport = httpx.ASGITransport(web.app, client=("203.0.113.9", 1234))
        async with httpx.AsyncClient(transport=transport, base_url="http://app.test") as stranger:
            answer = await stranger.get("/metrics")
    assert (answer.status_code, answer.content) == (404, b"")


async def test_a_redirect_process_answers_acme_challenges(settings: Settings, db: Database) -> None:
    settings.data_dir.mkdir()
    async with db.write() as tx:
        await tx.execute(
            text("INSERT INTO acme_challenges (token, key_authorization, created_at) VALUES ('token', 'a.key', :now)"),
            {"now": 0 if db.dialect == "sqlite" else datetime.now(UTC)},
        )
    for tls, expected in ((True, (200, "a.key")), (False, (404, ""))):
        async with open_redirect_app(settings.model_copy(update={"tls": tls})) as web, client_of(web.app) as client:
            answer = await client.get("/.well-known/acme-challenge/token", headers={"Host": "go.example.com"})
            assert (answer.status_code, answer.text) == expected


@asynccontextmanager
async def working(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """A worker of this process, asked over a real socket."""
    stop, bound = asyncio.Event(), socket.create_server(("127.0.0.1", 0))
    worker = asyncio.create_task(run_worker(settings, sockets=[bound], stop=stop))
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{bound.getsockname()[1]}", trust_env=False) as client:
            yield client
    finally:
        stop.set()
        await worker


async def test_a_worker_serves_probes_only(settings: Settings, db: Database) -> None:
    settings.data_dir.mkdir()
    async with working(settings) as client:
        for path in PROBES:
            assert (await client.get(path)).status_code == 200, path
        assert "waypost_webhook_pending" in (await client.get("/metrics")).text
        for path in NOT_THEIRS:
            answer = await client.get(path)
            assert (answer.status_code, answer.content) == (404, b""), path
        async with db.write() as tx:
            await tx.execute(text("UPDATE alembic_version SET version_num = '0001'"))
        unready = await client.get("/readyz")
        assert (unready.status_code, "waypost migrate" in unready.json()["reasons"][0]) == (503, True)


async def test_a_worker_without_database_is_not_ready(settings: Settings) -> None:
    settings.data_dir.mkdir()
    gone = settings.model_copy(update={"database_url": "postgresql://waypost:hunter2@127.0.0.1:1/waypost"})
    async with working(gone) as client:
        assert (await client.get("/healthz")).status_code == 200
        unready = await client.get("/readyz")
        assert (unready.status_code, unready.headers["retry-after"]) == (503, "1")
        assert "database cannot be used" in unready.json()["reasons"][0]
        assert "127.0.0.1" not in unready.text


@pytest.mark.parametrize("open_app", [open_full_app, open_redirect_app])
async def test_readiness_says_what_is_wrong(settings: Settings, db: Database, open_app) -> None:
    settings.data_dir.mkdir()
    shutting_down = False
    async with open_app(settings, is_shutting_down=lambda: shutting_down) as web, client_of(web.app) as client:
        assert (await client.get("/readyz")).json() == {"status": "ready"}
        shutting_down = True
        assert await reason(client) == "This process is shutting down."
        shutting_down = False
        async with db.write() as tx:
            await tx.execute(text("UPDATE alembic_version SET version_num = '0001'"))
        assert "waypost migrate" in await reason(client)


@pytest.mark.parametrize("open_app", [open_full_app, open_redirect_app])
async def test_readiness_without_database_shows_no_secret(settings: Settings, open_app) -> None:
    settings.data_dir.mkdir()
    gone = settings.model_copy(update={"database_url": "postgresql://waypost:hunter2@127.0.0.1:1/waypost"})
    async with open_app(gone) as web, client_of(web.app) as client:
        shown = await reason(client)
        assert "database cannot be used" in shown
        assert "hunter2" not in shown
        assert "127.0.0.1" not in shown


async def reason(client: httpx.AsyncClient) -> str:
    """Why the process is not ready. It is alive nevertheless."""
    assert (await client.get("/healthz")).status_code == 200
    unready = await client.get("/readyz")
    assert (unready.status_code, unready.headers["retry-after"]) == (503, "1")
    [shown] = unready.json()["reasons"]
    return shown


MEASURED = {
    "redirect": {"waypost_routes_in_memory", "waypost_change_feed_lag_seconds", "waypost_redirects_total"},
    "worker": {"waypost_queue_oldest_due_seconds", "waypost_clicks_drained_total"},
}


def measures(service: Service, role: str) -> bool:
    text = service.client.get("/metrics").text
    names = set(re.findall(r"^(\w+)", text, re.MULTILINE))
    return (
        f'waypost_processes{{kind="{role}"}} 1.0' in text
        and names >= {*MEASURED[role], "waypost_spool_oldest_visit_seconds", "waypost_database_waiting"}
        and ("waypost_routes_in_memory" in names) == (role == "redirect")
    )


@pytest.mark.parametrize("role", ["redirect", "worker"])
def test_roles_run_as_processes(tmp_path: Path, role: str) -> None:
    with Service(tmp_path, options=("--role", role)) as service:
        answers = [service.client.get(path) for path in PROBES]
        assert [answer.status_code for answer in answers] == [200] * 3
        refused = service.client.get("/api/v1/me")
        assert (refused.status_code, refused.content) == (404, b"")
        for answer in (*answers, refused):
            assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
        eventually(lambda: measures(service, role))
        assert service.stop() == 0
        service.start()
