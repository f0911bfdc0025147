"""The servers that containers use, on machines of their network, and what is needed to look at it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import httpx
from clickhouse.server import ClickHouseServer
from journeys.service import eventually
from nodes.network import Network
from nodes.postgres import PostgresMachine

POSTGRES, CLICKHOUSE, CLIENT = "10.87.0.130", "10.87.0.131", "10.87.0.3"


@contextlib.contextmanager
def running_postgres(directory: Path, network: Network, password: str) -> Iterator[None]:
    """An empty database of the user `waypost`."""
    network.add("postgres", POSTGRES)
    postgres = PostgresMachine(network, "postgres", POSTGRES, directory)
    try:
        postgres.create()
        postgres.sql(f"CREATE USER waypost PASSWORD '{password}'")
        postgres.sql("ALTER DATABASE waypost OWNER TO waypost")
        yield
    finally:
        postgres.kill()


@contextlib.contextmanager
def running_clickhouse(directory: Path, network: Network) -> Iterator[str]:
    """Its URL: the engine of the tests has a port and a password of its own."""
    network.add("clickhouse", CLICKHOUSE)
    (directory / "clickhouse").mkdir()
    server = ClickHouseServer(
        directory / "clickhouse", host=CLICKHOUSE, run=lambda command: network.on("clickhouse", *command)
    )
    try:
        server.start()
        server.sql("CREATE DATABASE waypost")
        yield server.url("waypost").replace(CLICKHOUSE, "clickhouse")
    finally:
        server.stop()


def wait_until_ready(url: str) -> None:
    def is_ready() -> bool:
        try:
            return httpx.get(f"{url}/readyz", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    eventually(is_ready, every=0.2)
