"""R20: without its database the service redirects what it knows, keeps every visit, and recovers by itself."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PostgresServer
from journeys.service import Service, Website, eventually


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A cluster of the test's own, to be taken away."""
    directory = Path(tempfile.mkdtemp(prefix="waypost-pg-"))
    directory.chmod(0o777)
    server = PostgresServer(directory)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(directory)


def test_a_database_that_goes_and_comes_back(server: PostgresServer, tmp_path: Path) -> None:
    server.sql("CREATE DATABASE waypost")
    with Website() as page, Service(tmp_path, WAYPOST_DATABASE_URL=server.url("waypost")) as service:
        client = service.client
        made = client.post("/api/v1/links", json={"slug": "known", "destination_url": page.url}).json()["data"]
        client.post("/api/v1/links", json={"slug": "unseen", "destination_url": page.url})
        assert client.get("/known").status_code == 302
        server.stop()

        assert [client.get("/known").status_code for _ in range(20)] == [302] * 20
        refused = client.get(f"/api/v1/links/{made['id']}")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "http_error")
        assert "Retry-After" in refused.headers
        assert client.get("/unseen").status_code == 503
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200

        server.start_again()
        eventually(lambda: client.get("/readyz").status_code == 200)
        eventually(lambda: client.get("/unseen").status_code == 302)
        eventually(lambda: _clicks(service, made["id"]) == 21)
        assert "Traceback" not in "".join(service.log.lines)


def _clicks(service: Service, link_id: str) -> int:
    return service.client.get(f"/api/v1/links/{link_id}").json()["data"]["clicks"]
