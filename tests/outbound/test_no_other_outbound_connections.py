"""Nothing outside `waypost.outbound` can reach the network on its own (R1)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import waypost

SOURCE = Path(waypost.__file__).parent
CLIENTS = {
    "aiohttp", "aiohappyeyeballs", "aiosmtplib", "httpx", "httpcore", "requests", "urllib3", "http.client",
    "urllib.request", "xmlrpc.client", "ftplib", "smtplib", "telnetlib", "poplib", "imaplib", "websockets",
    "pycurl", "dns",
}  # fmt: skip
CONNECTS = {
    "open_connection", "create_connection", "sock_connect", "connect_ex", "create_datagram_endpoint",
    "urlopen", "sendto",
}  # fmt: skip
LOCAL = {
    "database/postgres.py: connect",  # to the operator's database
    "mail/smtp.py: aiosmtplib",  # to the operator's mail server
    "worker/parent.py: sendto",  # to the Unix socket of systemd
    "worker/healthcheck.py: create_connection",  # to the service's own port
    "installation.py: connect",  # of a datagram socket: it chooses a route, and sends nothing
}


def test_only_outbound_opens_connections() -> None:
    assert list(faults("import aiohttp")) == ["aiohttp"]
    assert list(faults("from urllib import request")) == ["urllib.request"]
    assert list(faults("from dns.asyncresolver import Resolver")) == ["dns.asyncresolver"]
    assert list(faults("import socket\nsocket.socket().connect(('a', 1))")) == ["connect"]
    assert list(faults("await asyncio.open_connection('a', 1)")) == ["open_connection"]
    assert list(faults("from asyncio import open_connection as o")) == ["open_connection"]
    assert list(faults("__import__('httpx')")) == ["httpx"]
    assert not list(faults("import socket, sqlite3\nsocket.socket().bind(x)"))
    assert not list(faults("import sqlite3\nsqlite3.connect(x)"))


def test_outbound_is_the_only_way_out() -> None:
    found = {
        f"{path.relative_to(SOURCE)}: {fault}"
        for path in SOURCE.rglob("*.py")
        if not path.is_relative_to(SOURCE / "outbound")
        for fault in faults(path.read_text())
    }
    assert found == LOCAL


def faults(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    forbidden = CONNECTS | ({"connect"} if "socket" in _imports(tree) else set())
    for module in _imports(tree):
        if any(module == client or module.startswith(f"{client}.") for client in CLIENTS):
            yield module
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in forbidden:
            yield node.attr
        if isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names if name.name in CONNECTS)


def _imports(tree: ast.AST) -> list[str]:
    found: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found += [name.name for name in names]
            case ast.ImportFrom(module=str(module), names=names):
                inner = [f"{module}.{name.name}" for name in names if f"{module}.{name.name}" in CLIENTS]
                found += inner or [module]
            case ast.Call(func=ast.Name("__import__") | ast.Attribute(attr="import_module"), args=[ast.Constant(name)]):
                found.append(name)
    return found
