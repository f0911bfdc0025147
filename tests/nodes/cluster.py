"""Three nodes behind HAProxy, a PostgreSQL primary with a standby behind another one, and ClickHouse.

The configuration of HAProxy is the one in deploy/: the network has its addresses.
"""

import contextlib
import csv
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from clickhouse.server import ClickHouse, ClickHouseServer
from journeys.service import Service, eventually, is_dead
from nodes.network import Network
from nodes.postgres import PostgresPair
from people import new_person

from waypost.database import Database

DEPLOY = Path(__file__).parents[2] / "deploy"
HTTP, DATABASE, CLIENT, CADDY, CLICKHOUSE = "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.13"
BASE_URL = f"http://{HTTP}"
_POSTGRES = {"pg-1": "10.0.0.11", "pg-2": "10.0.0.12"}
_NODES = {"node-a": "10.0.0.21", "node-b": "10.0.0.22", "node-c": "10.0.0.23"}
_FAKETIME = next(iter(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)


class Node(Service):
    """`waypost serve` on a machine of the network."""

    def __init__(
        self, network: Network, name: str, directory: Path, *, program: Path | None = None, **settings: str
    ) -> None:
        """`program`: another installed version."""
        directory.mkdir()
        super().__init__(directory, **settings)
        self.name = name
        self.address = _NODES[name]
        self.serving = [str(program or self.serving[0]), "serve", "--host", "0.0.0.0", "--port", "8000"]
        self.serving = network.on(name, *self.serving)
        self.client.close()
        self.client = httpx.Client(
            base_url=f"http://{self.address}:8000", headers={"Host": "localhost"}, timeout=30, trust_env=False
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`waypost …` on its machine, by the installed program."""
        command = [*self.serving[:3], *arguments]
        return subprocess.run(
            command, check=False, env=self.environment, cwd=self.directory, capture_output=True, text=True
        )

    def command(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kill_all(self) -> None:
        """SIGKILL to all processes at once."""
        assert self._process is not None
        processes = [self._process.pid, *self.children("web"), *self.children("worker")]
        for process in processes:
            os.kill(process, signal.SIGKILL)
        eventually(lambda: all(map(is_dead, processes)))
        self.ended()

    def kill_child(self, kind: str) -> None:
        for process in self.children(kind):
            os.kill(process, signal.SIGKILL)

    def segments(self) -> dict[str, int]:
        """The bytes of the spool's segments that have visits."""
        header = len(b"waypost-spool 2\n")
        sizes = {path.name: path.stat().st_size for path in (self.directory / "data" / "spool").glob("*.visits")}
        return {name: size for name, size in sizes.items() if size > header}


class Cluster:
    def __init__(self, network: Network, directory: Path) -> None:
        self.network = network
        self.directory = directory
        self.postgres = PostgresPair(network, _POSTGRES, directory)
        self._clickhouse_server = ClickHouseServer(directory / "clickhouse", host=CLICKHOUSE, run=self._on_clickhouse)
        self.clickhouse: ClickHouse
        self.nodes: list[Node] = []
        self._haproxies: list[subprocess.Popen[bytes]] = []

    def node(self, name: str) -> Node:
        return next(node for node in self.nodes if node.name == name)

    def start(self, *, ca_file: Path | None = None, skewed: str = "node-c", **settings: str) -> None:
        """`skewed`: the node whose clock is 10 s ahead."""
        self.postgres.start()
        self._start_haproxy("haproxy-db", "postgresql.cfg")
        eventually(self._haproxy_found_primary)
        self._clickhouse_server.start()
        self.clickhouse = ClickHouse(self._clickhouse_server)
        self._start_haproxy("haproxy-http", "http.cfg")
        common = {
            "WAYPOST_BASE_URL": BASE_URL,
            "WAYPOST_DATABASE_URL": f"postgresql://postgres@{DATABASE}/waypost",
            "WAYPOST_CLICKHOUSE_URL": self.clickhouse.url,
            "WAYPOST_SECRET_KEY": "one secret key that all nodes have",
            "WAYPOST_TRUSTED_PROXIES": f"{HTTP}/32,{CADDY}/32",
            "WAYPOST_OUTBOUND_ALLOW": "10.0.0.0/24",
            **({"WAYPOST_OUTBOUND_CA_FILE": str(ca_file)} if ca_file else {}),
            **settings,
        }
        self.nodes = [Node(self.network, name, self.directory / name, **common) for name in _NODES]
        self.nodes[0].command("migrate")
        self.node(skewed).environment |= {
            "LD_PRELOAD": str(_FAKETIME),
            "FAKETIME": "+10s",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        for node in self.nodes:
            node.spawn()
        self.wait_until_ready()

    def stop(self) -> None:
        for node in self.nodes:
            with contextlib.suppress(AssertionError):
                node.stop()
            node.client.close()
        for process in self._haproxies:
            process.terminate()
            process.wait()
        self._clickhouse_server.stop()
        self.postgres.stop()

    async def new_keys(self, *names: str) -> dict[str, str]:
        """An API key for each name, of an account of its own."""
        db = Database(f"postgresql://postgres@{DATABASE}/waypost")
        try:
            return {name: (await new_person(db, name, now=datetime.now(UTC))).key for name in names}
        finally:
            await db.close()

    def cache(self, slug: str) -> None:
        """Let every node load the link, without a visit: HEAD requests are not counted."""
        for node in self.nodes:
            assert node.client.head(f"/{slug}", headers={"Host": HTTP}).status_code == 302

    def wait_until_ready(self) -> None:
        for node in self.nodes:
            eventually(lambda node=node: _is_ready(node), every=0.1, within=180)

    def wait_until_drained(self, within: float = 120) -> None:
        eventually(self._is_drained, every=0.2, within=within)

    def _is_drained(self) -> bool:
        positions = dict(self.postgres.primary.sql("SELECT segment, position FROM spool_positions"))
        return all(positions.get(name) == size for node in self.nodes for name, size in node.segments().items())

    def _on_clickhouse(self, command: Sequence[str]) -> list[str]:
        return self.network.on("clickhouse", *command)

    def _start_haproxy(self, machine: str, configuration: str) -> None:
        """Only the control socket, which two clusters would share, has another path."""
        text = (DEPLOY / "haproxy" / configuration).read_text().replace("/run/", f"{self.directory}/")
        path = self.directory / configuration
        path.write_text(text)
        with (self.directory / f"{machine}.log").open("wb") as log:
            command = self.network.on(machine, "haproxy", "-db", "-f", str(path))
            self._haproxies.append(subprocess.Popen(command, stdout=log, stderr=log))

    def _haproxy_found_primary(self) -> bool:
        """Before its first checks HAProxy holds the standby for a primary too."""
        with socket.socket(socket.AF_UNIX) as control:
            try:
                control.connect(str(self.directory / "waypost-postgresql.sock"))
            except OSError:
                return False
            control.sendall(b"show stat\n")
            rows = csv.DictReader(control.makefile("r"))
            return any(row["svname"] == self.postgres.standby.name and row["status"] == "DOWN" for row in rows)


def _is_ready(node: Node) -> bool:
    try:
        return node.client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


@contextlib.contextmanager
def running_cluster(**options: Any) -> Iterator[Cluster]:
    """Until the end, this thread opens its sockets on the client's machine."""
    with tempfile.TemporaryDirectory(prefix="waypost-nodes-", ignore_cleanup_errors=True) as name, Network() as network:
        directory = Path(name)
        directory.chmod(0o777)  # PostgreSQL runs as a user of its own
        (directory / "clickhouse").mkdir()
        network.add("haproxy-http", HTTP)
        network.add("haproxy-db", DATABASE)
        network.add("client", CLIENT)
        network.add("caddy", CADDY)
        network.add("clickhouse", CLICKHOUSE)
        for machine, address in (_POSTGRES | _NODES).items():
            network.add(machine, address)
        with network.inside("client"):
            cluster = Cluster(network, directory)
            try:
                cluster.start(**options)
                yield cluster
            except BaseException:
                for node in cluster.nodes:
                    sys.stderr.write(f"--- {node.name}\n{''.join(node.log.lines[-40:])}\n")
                for log in directory.glob("*.log"):
                    sys.stderr.write(f"--- {log.name}\n{log.read_text()[-2000:]}\n")
                raise
            finally:
                cluster.stop()
