"""`waypost serve --tls` from nothing: certificates by ACME, and visits that trust no other issuer."""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from resources.domains.certificates.authorities import HERE, Pebble, RunningPebble, free_ports, needs_pebble
from resources.domains.certificates.conftest import domain
from sqlalchemy import create_engine, insert, select, update

from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.resources.domains.model import certificates, domains
from waypost.resources.links.model import links

WAYPOST = Path(sys.executable).parent / "waypost"
ALICE, BOB, APP, GO = "go.alice.test", "bob.test", "app.test", "go.test"
VISIT = "GET /{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def pebble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pebble]:
    with RunningPebble(tmp_path_factory.mktemp("pebble")) as running:
        yield running


class Service:
    def __init__(self, directory: Path, pebble: Pebble) -> None:
        [self.tls_port] = free_ports(1)
        self.port = pebble.proof_port
        settings = {
            "DATA_DIR": directory / "data",
            "BASE_URL": f"https://{APP}",
            "SHARED_DOMAIN": GO,
            "ACME_DIRECTORY": pebble.directory,
            "OUTBOUND_ALLOW": HERE,
            "OUTBOUND_CA_FILE": pebble.ca_file,
            "DNS_SERVERS": pebble.dns_server,
        }
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
        self.log = directory / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*f"{WAYPOST} serve --host {HERE} --tls --tls-port {self.tls_port} --port {self.port}".split()],
                cwd=directory,
                env=environment | {f"WAYPOST_{name}": str(value) for name, value in settings.items()},
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        self.trusting = ssl.create_default_context(cadata=pebble.roots)
        self.engine = create_engine(f"sqlite:///{directory / 'data' / 'waypost.db'}")

    def connect(self, host: str) -> ssl.SSLSocket:
        opened = socket.create_connection((HERE, self.tls_port), timeout=60)
        try:
            return self.trusting.wrap_socket(opened, server_hostname=host)
        except BaseException:
            opened.close()
            raise

    def visits(self, host: str, path: str = "", *, names: str = "") -> str:
        with self.connect(host) as connection:
            connection.sendall(VISIT.format(path, names or host).encode())
            return connection.makefile().read()

    def visits_plainly(self, host: str, path: str) -> str:
        with socket.create_connection((HERE, self.port), timeout=60) as connection:
            connection.sendall(VISIT.format(path, host).encode())
            return connection.makefile().read()

    def serial(self, host: str) -> str:
        with self.connect(host) as connection:
            return connection.getpeercert()["serialNumber"]

    def has_certificate(self, host: str) -> bool:
        try:
            return bool(self.serial(host))
        except (ssl.SSLError, ConnectionError):
            return False


def until(condition: Callable[[], bool]) -> None:
    waited = threading.Event()
    for _ in range(600):
        if condition():
            return
        waited.wait(0.05)
    raise AssertionError


@pytest.fixture
def service(tmp_path: Path, sqlite_template: Path, pebble: Pebble) -> Iterator[Service]:
    (tmp_path / "data").mkdir(0o700)
    shutil.copy(sqlite_template, tmp_path / "data" / "waypost.db")
    running = Service(tmp_path, pebble)
    with running.engine.begin() as tx:
        for slug, host in (("hello", ALICE), ("there", BOB)):
            row = domain(host, now())
            tx.execute(insert(domains), row)
            add_link(tx, slug, row)
    yield running
    running.engine.dispose()
    if running.process.poll() is None:
        running.process.terminate()
        running.process.wait(60)


def add_link(tx, slug: str, row: dict[str, object]) -> None:
    needed = {"id": new_id(), "account_id": row["account_id"], "domain_id": row["id"], "slug": slug}
    needed |= {"destination_url": "https://example.com/", "title": "", "utm_params": {}, "tags": [], "search_text": ""}
    needed |= {"is_enabled": True, "created_at": now(), "updated_at": now()}
    tx.execute(insert(links), needed)


@needs_pebble
def test_obtains_a_certificate_and_serves_https(service: Service, pebble: Pebble) -> None:
    for host in (ALICE, BOB, APP, GO):
        until(lambda host=host: service.has_certificate(host))
    for host, slug in ((ALICE, "hello"), (BOB, "there")):
        message = service.visits(host, slug)
        assert message.startswith("HTTP/1.1 302 ")
        assert "\nlocation: https://example.com/\n" in message
    assert service.visits(APP, "api/v1/me").startswith("HTTP/1.1 401 ")  # and not 400: it came over TLS
    assert service.visits_plainly(APP, "api/v1/me").startswith("HTTP/1.1 400 ")
    assert service.visits_plainly(ALICE, "hello").startswith("HTTP/1.1 302 ")
    assert service.visits_plainly("nobody.example", ".well-known/acme-challenge/none").startswith("HTTP/1.1 404 ")

    before, orders = service.serial(BOB), pebble.orders()
    for number in range(200):
        with pytest.raises(ssl.SSLError, match=r"(?i)unrecognized.name"):
            service.connect(f"{number}.example")
    with service.engine.begin() as tx:
        tx.execute(update(certificates).where(certificates.c.hostname == BOB).values(due_at=now()))
    until(lambda: service.serial(BOB) != before)
    assert pebble.orders() == orders + 1
    with service.engine.begin() as tx:
        assert {*tx.scalars(select(certificates.c.hostname))} == {ALICE, BOB, APP, GO}

    kept = service.connect(ALICE)  # idle: nobody waits for it at the end
    kept.sendall(VISIT.format("hello", ALICE).replace("close", "keep-alive").encode())
    assert kept.recv(12) == b"HTTP/1.1 302"
    silent = socket.create_connection((HERE, service.tls_port))  # and neither for a handshake that does not come
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(60) == 0
    kept.close()
    silent.close()
    assert "PRIVATE KEY" not in service.log.read_text()
