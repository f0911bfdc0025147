"""The service's own URL, asked for as a visitor would."""

import ssl
from pathlib import Path

import pytest
import trustme
from servers import PRIVATE, Receiver, page

from waypost.outbound import Unreachable
from waypost.outbound.own_url import status_of


async def test_returns_the_status_over_https(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(PRIVATE).configure_cert(tls)
    async with Receiver(page("hello"), PRIVATE, tls=tls) as server:
        url = f"https://{PRIVATE}:{server.port}/api/v1/me"
        assert await status_of(url, ca_file=tmp_path / "ca.pem") == 200
        with pytest.raises(Unreachable, match="tls: unable to get local issuer certificate"):
            await status_of(url, ca_file=None)


async def test_says_why_nothing_responds() -> None:
    async with Receiver(page(""), PRIVATE) as server:
        url = f"https://{PRIVATE}:{server.port}/"
    with pytest.raises(Unreachable, match="connection refused"):
        await status_of(url, ca_file=None)
