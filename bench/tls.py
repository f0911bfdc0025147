"""Redirects over built-in TLS, relative to nginx with the same certificate (P-256), map of slugs and an access log.

Connections are persistent, as in browsers, so there are few handshakes. Both servers run on the same core. Not
measured: handshakes.
"""

import asyncio
import socket
import ssl
from datetime import timedelta
from typing import Any

import trustme
from sqlalchemy import insert

from bench import wrk
from bench.nginx import nginx
from bench.report import Row, measured
from bench.run import Run
from bench.seed import new_store
from bench.servers import SECRET_KEY, free_port, waypost
from bench.wrk import Contender
from waypost.database import Database, KeyRing
from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.resources.domains.model import certificates

_HOST = "localhost"
_TLS = """
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {directory}/chain.pem; ssl_certificate_key {directory}/key.pem;
    ssl_protocols TLSv1.2 TLSv1.3;
"""


def measure(run: Run) -> list[Row]:
    directory, ports = run.new_directory(), (free_port(), free_port())
    issued = trustme.CA().issue_cert(_HOST)  # P-256 by default
    chain, key = issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes()
    (directory / "chain.pem").write_bytes(chain)
    (directory / "key.pem").write_bytes(key)
    store = asyncio.run(new_store(run.new_directory() / "waypost.db", run.few))
    asyncio.run(_certify(store.url, chain.decode(), key.decode()))
    settings: dict[str, Any] = {
        "shared_domain": f"{_HOST}:{ports[0]}",
        "tls": True,
        "tls_port": ports[0],
    }
    with (
        nginx(directory, run.few, _TLS.format(port=ports[1], directory=directory)) as theirs,
        waypost(store, run.new_directory(), routes_in_memory=run.few * 2 + 1_000, **settings) as ours,
    ):
        wrk.warm_up(ours.port, run.few, lambda _: f"{_HOST}:{ports[0]}")
        ciphers = [_cipher(port) for port in ports]
        contenders = [
            Contender(server, "slugs.lua", [str(run.few), "bare"], f"https://{_HOST}:{port}")
            for server, port in zip((ours, theirs), ports, strict=True)
        ]
        own, other = wrk.alternate(run, contenders)
    rates = f"{run.few:,} links; Waypost {wrk.spread(own)}, {ciphers[0]}; nginx {wrk.spread(other)}, {ciphers[1]}"
    return [measured("redirects over built-in TLS, relative to nginx over TLS", wrk.rate_ratio(own, other), rates)]


async def _certify(url: str, chain: str, key: str) -> None:
    db, id_ = Database(url), new_id()
    row = {"id": id_, "hostname": _HOST, "chain": chain, "failures": 0, "is_own": True, "updated_at": now()}
    row |= {"expires_at": now() + timedelta(days=90), "due_at": now() + timedelta(days=60)}
    row["key"] = KeyRing([SECRET_KEY]).encrypt(certificates.c.key, id_, key)
    async with db.write() as tx:
        await tx.execute(insert(certificates).values(row))
    await db.close()


def _cipher(port: int) -> str:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30) as connection,
        trusting.wrap_socket(connection, server_hostname=_HOST) as secured,
    ):
        return (secured.cipher() or ("none",))[0]
