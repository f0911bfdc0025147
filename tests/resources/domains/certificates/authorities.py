"""Certificate authorities: Debian's pebble with a name server that leads all names here, and scripted ones."""

import asyncio
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
import trustme
from journeys.service import eventually
from servers import Receiver, response

PEBBLE = shutil.which("pebble")
NAME = "acme.test"
HERE = "127.0.0.1"
NOWHERE = "nowhere."
"""Names that begin so do not exist."""

needs_pebble = pytest.mark.skipif(not PEBBLE, reason="pebble is missing: apt-get install pebble (make test does it)")


class EveryNameIsHere(threading.Thread):
    """A name server in a thread, so that it lives as long as a pebble does."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((HERE, 0))
        self.address = f"{HERE}:{self._socket.getsockname()[1]}"

    def run(self) -> None:
        while (data := self._socket.recvfrom(4096))[0]:
            question = dns.message.from_wire(data[0])
            answer = dns.message.make_response(question)
            name, kind = question.question[0].name, question.question[0].rdtype
            if name.to_text().startswith(NOWHERE):
                answer.set_rcode(dns.rcode.NXDOMAIN)
            elif kind == dns.rdatatype.A:
                answer.answer.append(dns.rrset.from_text(name, 0, "IN", "A", HERE))
            self._socket.sendto(answer.to_wire(), data[1])

    def close(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self._socket.getsockname())
        self.join(60)
        self._socket.close()


@dataclass
class Pebble:
    directory: str
    ca_file: Path
    """Of whoever answers as the authority."""
    dns_server: str
    proof_port: int
    """Where it comes to see proofs, in place of 80."""
    roots: str
    """PEM: the issuers of its certificates."""
    log: Path

    def orders(self) -> int:
        return self.log.read_text().count("/order-plz")


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server((HERE, 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class RunningPebble:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> Pebble:
        port, manage, proofs, unused = free_ports(4)
        ca, files = trustme.CA(), self._directory
        ca.cert_pem.write_to_path(files / "ca.pem")
        leaf = ca.issue_cert(NAME, HERE)
        leaf.private_key_pem.write_to_path(files / "key.pem")
        leaf.cert_chain_pems[0].write_to_path(files / "cert.pem")
        config = {
            "listenAddress": f"{HERE}:{port}",
            "managementListenAddress": f"{HERE}:{manage}",
            "certificate": str(files / "cert.pem"),
            "privateKey": str(files / "key.pem"),
            "httpPort": proofs,
            "tlsPort": unused,
        }
        (files / "pebble.json").write_text(json.dumps({"pebble": config}))
        self._names = EveryNameIsHere()
        self._names.start()
        settings = {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0", "PEBBLE_AUTHZREUSE": "0"}
        command = [PEBBLE, "-config", files / "pebble.json", "-dnsserver", self._names.address]
        with (files / "log").open("w") as log:
            self._process = subprocess.Popen(command, env=os.environ | settings, stdout=log, stderr=log)
        trusting = ssl.create_default_context(cafile=files / "ca.pem")
        eventually(lambda: all(map(self._is_open, (port, manage))))  # it opens each when it comes to it
        with urllib.request.urlopen(f"https://{HERE}:{manage}/roots/0", context=trusting, timeout=60) as answer:
            roots = answer.read().decode()
        url = f"https://{NAME}:{port}/dir"
        return Pebble(url, files / "ca.pem", self._names.address, proofs, roots, files / "log")

    def _is_open(self, port: int) -> bool:
        assert self._process.poll() is None, (self._directory / "log").read_text()
        try:
            socket.create_connection((HERE, port), timeout=60).close()
        except ConnectionRefusedError:
            return False
        return True

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(60)
        self._names.close()


class Scripted:
    """An authority that takes accounts and answers each order with `on_order`; counts what it is asked."""

    def __init__(self, directory: Path) -> None:
        self._ca = trustme.CA()
        self.ca_file = directory / "scripted-ca.pem"
        self._ca.cert_pem.write_to_path(self.ca_file)
        self.on_order: list[bytes] = []
        """The last one stays."""
        self.on_directory = b""
        self.on_account = b""
        self.requests: list[str] = []

    async def __aenter__(self) -> Self:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._ca.issue_cert(HERE).configure_cert(tls)
        self._receiver = Receiver(self._answer, HERE, tls=tls)
        await self._receiver.__aenter__()
        self.directory = self._receiver.url("/directory")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._receiver.__aexit__()

    async def _answer(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        path = head.split()[1].decode()
        self.requests.append(path)
        fresh = {"replay_nonce": f"nonce{len(self.requests)}"}
        names = {name: self._receiver.url(f"/{name}") for name in ("newNonce", "newAccount", "newOrder")}
        answers = {
            "/directory": self.on_directory or response(200, json.dumps(names).encode()),
            "/newNonce": response(200, **fresh),
            "/newAccount": self.on_account or response(201, b"{}", location=self._receiver.url("/account"), **fresh),
        }
        if path == "/newOrder":
            writer.write(self.on_order.pop(0) if len(self.on_order) > 1 else self.on_order[0])
        else:
            writer.write(answers[path])
        await writer.drain()


def problem(status: int, kind: str, detail: str, **headers: str) -> bytes:
    body = {"type": f"urn:ietf:params:acme:error:{kind}", "detail": detail}
    headers = {"content_type": "application/problem+json", "replay_nonce": f"after-{kind}"} | headers
    return response(status, json.dumps(body).encode(), **headers)
