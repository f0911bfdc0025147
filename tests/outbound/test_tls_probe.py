"""A probe reports until when a name's certificate is good, goes only where it may, and ends."""

import asyncio
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from servers import ALLOW, OPEN, PRIVATE, NameServer, Receiver, canary, page, stall

from waypost.outbound import TlsProbe, TlsProbeResult, tls_probe
from waypost.outbound.addresses import own_addresses

END = datetime(2040, 2, 3, 4, 5, 6, tzinfo=UTC)
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC), datetime(2002, 1, 1, tzinfo=UTC)
OWN = next((str(each) for each in own_addresses() if each.version == 4 and not each.is_loopback), None)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def probe(authority: trustme.CA, names: NameServer, tmp_path: Path) -> Callable[[int], object]:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    names.has("go.test", [OPEN])

    async def run(port: int) -> TlsProbeResult:
        prober = TlsProbe(allow=ALLOW, dns_servers=[names.address], ca_file=tmp_path / "ca.pem", port=port)
        return await prober.probe("go.test")

    return run


def serving(certificate: trustme.LeafCert, host: str = OPEN) -> Receiver:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(tls)
    return Receiver(page("secret"), host, tls=tls)


async def test_reports_when_a_good_certificate_expires(probe, authority: trustme.CA) -> None:
    async with serving(authority.issue_cert("go.test", not_after=END)) as server:
        assert await probe(server.port) == TlsProbeResult("good", END)
        assert server.heads == []


async def test_bad_certificates(probe, authority: trustme.CA) -> None:
    expired = authority.issue_cert("go.test", not_before=LONG_AGO[0], not_after=LONG_AGO[1])
    for certificate, reason in (
        (expired, "tls: certificate has expired"),
        (authority.issue_cert("other.test"), "tls: Hostname mismatch, certificate is not valid for 'go.test'."),
        (trustme.CA().issue_cert("go.test"), "tls: unable to get local issuer certificate"),
    ):
        async with serving(certificate) as server:
            assert await probe(server.port) == TlsProbeResult("bad", reason=reason)


async def test_nobody_there(probe, names: NameServer) -> None:
    async with Receiver(page("")) as gone:
        pass
    assert await probe(gone.port) == TlsProbeResult("none", reason="connection refused")
    names.forgets("go.test")
    assert await probe(gone.port) == TlsProbeResult("none", reason="dns: there is no such host")


async def test_no_tls_there(probe, monkeypatch: pytest.MonkeyPatch) -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(babble, OPEN) as server:
        assert (await probe(server.sockets[0].getsockname()[1])).outcome == "none"
    monkeypatch.setattr(tls_probe, "DEADLINE", 0.2)
    async with Receiver(stall) as server:
        assert await probe(server.port) == TlsProbeResult("none", reason="timed out")


async def test_private_addresses(probe, names: NameServer) -> None:
    names.has("go.test", [PRIVATE])
    async with canary() as server:
        assert await probe(server.port) == TlsProbeResult("none", reason="go.test has the address 127.0.0.1")
        assert server.connections == 0


@pytest.mark.skipif(OWN is None, reason="this machine has no address but loopback")
async def test_our_own_addresses(probe, names: NameServer, authority: trustme.CA) -> None:
    """Custom domains lead to ourselves."""
    names.has("go.test", [OWN or ""])
    async with serving(authority.issue_cert("go.test", not_after=END), OWN or "") as server:
        assert await probe(server.port) == TlsProbeResult("good", END)
