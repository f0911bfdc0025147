"""A TLS handshake and nothing more: what certificate does a host name answer with, and until when is it valid?

Goes where requests go, and also to this machine's own addresses, since custom domains point at ourselves.
"""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Literal

from waypost.kit.urls import BadUrl, canonical
from waypost.outbound.addresses import Address, Network, Reachable, own_addresses
from waypost.outbound.client import trusting
from waypost.outbound.dns_records import printable
from waypost.outbound.errors import OutboundError
from waypost.outbound.failures import reason_of
from waypost.outbound.names import Names

DEADLINE = 5.0


@dataclass(frozen=True, slots=True)
class TlsProbeResult:
    outcome: Literal["good", "bad", "none"]
    """bad: there is a certificate, and browsers refuse it. none: nobody speaks TLS there."""
    expires_at: datetime | None = None
    reason: str = ""
    """In plain words, unless it is good."""


class TlsProbe:
    def __init__(
        self,
        *,
        allow: Sequence[Network] = (),
        dns_servers: Sequence[str] = (),
        ca_file: Path | None = None,
        port: int = 443,
    ) -> None:
        # not loopback: what listens there is meant for nobody else, whatever name leads to it
        ours: list[Network] = [ip_network(address) for address in own_addresses() if not address.is_loopback]
        self._names = Names(Reachable([*allow, *ours]), dns_servers)
        self._tls = trusting(ca_file)
        self._port = port

    async def probe(self, hostname: str) -> TlsProbeResult:
        """Within 5 seconds. Addresses are tried in turn until one answers."""
        try:
            async with asyncio.timeout(DEADLINE):
                addresses = await self._names.resolve(canonical(f"https://{hostname}/"))
                return await self._first(addresses, hostname)
        except TimeoutError:
            return TlsProbeResult("none", reason="timed out")
        except (OutboundError, BadUrl) as error:
            return TlsProbeResult("none", reason=printable(str(error)))

    async def _first(self, addresses: Sequence[Address], hostname: str) -> TlsProbeResult:
        seen = TlsProbeResult("none", reason="dns: the host has no address")
        for address in addresses:
            seen = await self._shake(address, hostname)
            if seen.outcome != "none":
                break
        return seen

    async def _shake(self, address: Address, hostname: str) -> TlsProbeResult:
        try:
            # by its address, which was checked: nobody resolves anything again
            _, writer = await asyncio.open_connection(str(address), self._port, ssl=self._tls, server_hostname=hostname)
        except ssl.SSLCertVerificationError as error:
            return TlsProbeResult(
                "bad", reason=printable(f"tls: {error.verify_message or 'the certificate is not valid'}")
            )
        except ssl.SSLError:
            return TlsProbeResult("none", reason="tls: the handshake failed")
        except OSError as error:
            return TlsProbeResult("none", reason=reason_of(error))
        try:
            ends = writer.get_extra_info("peercert")["notAfter"]
        finally:
            writer.transport.abort()
        return TlsProbeResult("good", expires_at=datetime.fromtimestamp(ssl.cert_time_to_seconds(ends), UTC))
