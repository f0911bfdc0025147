"""The whole service within 256 MB, in a control group: only root can create one."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from journeys.service import Service, Website, eventually

from bench.memory_limit import CannotLimit, MemoryLimit

VISITS, AT_ONCE = 20_000, 50


@pytest.fixture
def limit() -> Iterator[MemoryLimit]:
    try:
        made = MemoryLimit(256)
    except CannotLimit as error:
        pytest.skip(f"no control group: {error}")
    with made:
        yield made


def test_serves_within_256_mb(tmp_path: Path, limit: MemoryLimit) -> None:
    service = Service(tmp_path)
    service.serving = limit.command(service.serving)
    with Website() as site, service:
        processes = {kind: service.children(kind) for kind in ("web", "worker")}
        link = service.client.post("/api/v1/links", json={"destination_url": site.url}).json()["data"]
        visit(service, link["slug"])
        eventually(lambda: clicks(service, link) == VISITS, every=0.5)
        for path in (
            "/login",
            "/signup",
            "/docs",
            "/api/openapi.json",
            f"/api/v1/links/{link['id']}/stats",
            "/metrics",
        ):
            assert service.client.get(path).status_code == 200, path
        code = service.client.get(f"/api/v1/links/{link['id']}/qrcode").json()["data"]
        assert service.client.get(code["image_url"]).content.startswith(b"\x89PNG")
        assert {kind: service.children(kind) for kind in processes} == processes
        assert limit.kills() == 0
        assert limit.private_megabytes() < 200
    assert service.log._find("restarting", 0) is None


def visit(service: Service, slug: str) -> None:
    """Sends requests of many browsers over one connection, some at a time."""
    sent = 0
    with socket.create_connection(("127.0.0.1", service.port)) as connection, connection.makefile("rb") as answers:
        while sent < VISITS:
            batch = [
                f"GET /{slug} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)"
                f" Chrome/{number % 3_000}.0.0.0 Safari/537.36\r\nX-Forwarded-For: 8.8.{number % 250}.8\r\n\r\n"
                for number in range(sent, sent + AT_ONCE)
            ]
            connection.sendall("".join(batch).encode())
            for _ in batch:
                assert answers.readline() == b"HTTP/1.1 302 Found\r\n"
                while answers.readline() != b"\r\n":
                    pass
            sent += AT_ONCE


def clicks(service: Service, link: dict[str, str]) -> int:
    return service.client.get(f"/api/v1/links/{link['id']}").json()["data"]["clicks"]
