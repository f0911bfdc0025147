"""The services of compose.yaml as it says: their commands, users, settings, volumes, addresses and order.

The containers are namespaces of this machine; PostgreSQL, ClickHouse and HAProxy are its programs.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("podman_compose", reason="make .venv/.installed-deployments")
pytest.importorskip("chdb", reason="make .venv/.clickhouse-test")

from clickhouse.server import ClickHouseServer
from deployments.compose import project, services
from deployments.containers import Container, Image, running
from deployments.first_click import api_key, count_a_click
from deployments.machine import what_is_missing as what_a_machine_lacks
from journeys.service import Website, eventually
from nodes.network import Network, what_is_missing
from nodes.postgres import PostgresMachine

needs_containers = pytest.mark.skipif(bool(why := what_is_missing() or what_a_machine_lacks()), reason=why)
POSTGRES, CLICKHOUSE, CLIENT, ELSEWHERE = "10.87.0.130", "10.87.0.131", "10.87.0.3", "10.87.0.132"
ALLOWED = {"WAYPOST_OUTBOUND_ALLOW": "10.87.0.0/24"}


class Compose:
    """A project with the settings of a profile."""

    def __init__(self, directory: Path, network: Network, profile: str) -> None:
        (directory / "project").mkdir()
        self._project = project(directory / "project", profile)
        self._services = services(self._project)
        self._network = network
        self.image = Image(directory)

    def container(self, name: str, command: list[str] | None = None) -> Container:
        service: dict[str, Any] = self._services[name]
        address = service.get("networks", {}).get("default", {}).get("ipv4_address", ELSEWHERE)
        self._network.add(name, address)
        is_root = service.get("user") == "0"
        entry_point = service.get("entrypoint", ["waypost"])
        return Container(
            self.image,
            self._network,
            name,
            [*entry_point, *(command or service["command"])],
            environment=service.get("environment", {}) | (ALLOWED if name.startswith("waypost") else {}),
            mounts=[self._mount(text, owner=0 if is_root else 10001) for text in service["volumes"]],
            user=0 if is_root else 10001,
            capabilities="".join(f",+{each.lower()}" for each in service.get("cap_add", [])),
        )

    def _mount(self, text: str, owner: int) -> str:
        source, target, options = [*text.split(":"), "rw"][:3]
        path = self._project / source if source.startswith(".") else self.image.volume(source, owner)
        return f"{path}:{target}:{options}"


@pytest.fixture
def directory() -> Iterator[Path]:
    """Not `tmp_path`: PostgreSQL runs as a user of its own."""
    with tempfile.TemporaryDirectory(prefix="waypost-compose-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        network.add("client", CLIENT)
        with network.inside("client"):
            yield network


def wait_until_ready(url: str, host: str) -> None:
    def is_ready() -> bool:
        try:
            return httpx.get(f"{url}/readyz", headers={"Host": host}, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    eventually(is_ready, every=0.2)


SERVE = ["serve", "--host", "0.0.0.0", "--port", "8000"]
"""The command of the image."""


@needs_containers
def test_sqlite(directory: Path, network: Network) -> None:
    compose = Compose(directory, network, "sqlite")
    waypost = compose.container("waypost", SERVE)
    with running(waypost), Website(CLIENT) as page:
        url, host = "http://10.87.0.21:8000", "localhost:8000"
        wait_until_ready(url, host)
        first_start = compose.image.volume("data") / "first-start.txt"
        eventually(first_start.exists)
        count_a_click(url, api_key(first_start.read_text()), page.url, host=host)
        assert waypost.stop() == 0


@needs_containers
def test_two_nodes(directory: Path, network: Network) -> None:
    compose = Compose(directory, network, "scale")
    compose.container("secrets").run()
    secrets = compose.image.volume("secrets")
    assert {path.name: path.stat().st_mode & 0o777 for path in secrets.iterdir()} == dict.fromkeys(
        ("postgres_password", "database_url", "clickhouse_password", "clickhouse_url", "secret_key"), 0o440
    )
    with stores(directory, network, secrets):
        compose.image.hosts.write_text(f"{POSTGRES} postgres\n{CLICKHOUSE} clickhouse\n")
        compose.container("migrate").run()
        nodes = [compose.container(name, SERVE) for name in ("waypost", "waypost-b")]
        haproxy = compose.container("haproxy")
        network.run("haproxy", "sysctl", "--write", "net.ipv4.ip_unprivileged_port_start=0")
        with running(*nodes, haproxy), Website(CLIENT) as page:
            host = "localhost:8080"
            for address in ("10.87.0.21:8000", "10.87.0.22:8000", "10.87.0.2"):
                wait_until_ready(f"http://{address}", host)
            written = [compose.image.volume(name) / "first-start.txt" for name in ("data", "data-b")]
            eventually(lambda: any(path.exists() for path in written))
            [first_start] = [path.read_text() for path in written if path.exists()]
            click = count_a_click("http://10.87.0.2", api_key(first_start), page.url, host=host)
            assert click["ip"] == CLIENT  # HAProxy is trusted, and nobody else
            assert [node.stop() for node in nodes] == [0, 0]


@contextlib.contextmanager
def stores(directory: Path, network: Network, secrets: Path) -> Iterator[None]:
    """PostgreSQL and ClickHouse, empty. The engine of the tests has a port and a password of its own."""
    network.add("postgres", POSTGRES)
    network.add("clickhouse", CLICKHOUSE)
    postgres = PostgresMachine(network, "postgres", POSTGRES, directory)
    (directory / "clickhouse").mkdir()
    clickhouse = ClickHouseServer(
        directory / "clickhouse", host=CLICKHOUSE, run=lambda command: network.on("clickhouse", *command)
    )
    try:
        postgres.create()
        password = (secrets / "postgres_password").read_text()
        postgres.sql(f"CREATE USER waypost PASSWORD '{password}'")
        postgres.sql("ALTER DATABASE waypost OWNER TO waypost")
        clickhouse.start()
        clickhouse.sql("CREATE DATABASE waypost")
        (secrets / "clickhouse_url").write_text(clickhouse.url("waypost").replace(CLICKHOUSE, "clickhouse"))
        yield
    finally:
        clickhouse.stop()
        postgres.kill()
