"""TLS is verified, always: name, issuer and dates."""

import asyncio
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from servers import ALLOW, OPEN, NameServer, Receiver, page

from waypost.kit.urls import canonical
from waypost.outbound import Outbound, OutboundResponse, Unreachable

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC), datetime(2002, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusting(authority: trustme.CA, names: NameServer, tmp_path: Path) -> Outbound:
    """Knows the authority through WAYPOST_OUTBOUND_CA_FILE."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    names.has("secure.test", [OPEN])
    return Outbound(allow=ALLOW, dns_servers=[names.address], ca_file=tmp_path / "ca.pem")


async def fetch(outbound: Outbound, certificate: trustme.LeafCert, host: str = "secure.test") -> OutboundResponse:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(tls)
    async with Receiver(page("secret"), tls=tls) as receiver:
        try:
            return await outbound.request("GET", canonical(receiver.url(host=host)), deadline=30, max_body=10)
        finally:
            assert len(receiver.heads) <= 1


async def test_trusts_the_authorities_of_the_file(trusting: Outbound, authority: trustme.CA) -> None:
    assert (await fetch(trusting, authority.issue_cert("secure.test"))).body == b"secret"


async def test_an_address_in_the_certificate(trusting: Outbound, authority: trustme.CA) -> None:
    assert (await fetch(trusting, authority.issue_cert(OPEN), host=OPEN)).body == b"secret"


async def test_unknown_issuer(trusting: Outbound) -> None:
    with pytest.raises(Unreachable, match="tls: unable to get local issuer certificate"):
        await fetch(trusting, trustme.CA().issue_cert("secure.test"))


async def test_expired(trusting: Outbound, authority: trustme.CA) -> None:
    expired = authority.issue_cert("secure.test", not_before=LONG_AGO[0], not_after=LONG_AGO[1])
    with pytest.raises(Unreachable, match="tls: certificate has expired"):
        await fetch(trusting, expired)


async def test_wrong_name(trusting: Outbound, authority: trustme.CA) -> None:
    with pytest.raises(Unreachable, match="tls: Hostname mismatch"):
        await fetch(trusting, authority.issue_cert("other.test"))


async def test_no_tls_at_all(trusting: Outbound) -> None:
    def answer_at_once(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer_at_once, OPEN) as server:
        url = "https://{}:{}/".format(*server.sockets[0].getsockname())
        with pytest.raises(Unreachable, match="tls: the handshake failed"):
            await trusting.request("GET", canonical(url), deadline=30, max_body=10)
