"""Probes a host by a TLS handshake: whether its certificate is valid, and when it expires.

May connect where requests may, and to this machine's own addresses, since custom domains point to this service.
"""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Literal

from waypost.kit.proxies import IpAddress, Network
from waypost.kit.urls import BadUrl, canonical
from waypost.outbound.addresses import AllowedAddresses, HostResolver, own_addresses
from waypost.outbound.client import tls_context
from waypost.outbound.dns_lookup import printable
from waypost.outbound.errors import OutboundError, reason_of

DEADLINE = 5.0


@dataclass(frozen=True, slots=True)
class TlsProbeResult:
    outcome: Literal["good", "bad", "none"]
    """bad: browsers reject the certificate. none: no response over TLS."""
    expires_at: datetime | None = None
    reason: str = ""
    """Why the outcome is not good."""


class TlsProbe:
    def __init__(
        self,
        *,
        allow: Sequence[Network] = (),
        dns_servers: Sequence[str] = (),
        ca_file: Path | None = None,
        port: int = 443,
    ) -> None:
        # without loopback: services there are private
        ours: list[Network] = [ip_network(address) for address in own_addresses() if not address.is_loopback]
        self._resolver = HostResolver(AllowedAddresses([*allow, *ours]), dns_servers)
        self._ca_file = ca_file
        self._tls: ssl.SSLContext | None = None
        self._port = port

    async def probe(self, hostname: str) -> TlsProbeResult:
        """Try the addresses in turn until one responds, within 5 seconds."""
        try:
            async with asyncio.timeout(DEADLINE):
                if self._tls is None:
                    self._tls = await asyncio.to_thread(tls_context, self._ca_file)
                addresses = await self._resolver.resolve(canonical(f"https://{hostname}/"))
                for address in addresses:
                    result = await self._shake_hands(address, hostname, self._tls)
                    if result.outcome != "none":
                        break
                return result
        except TimeoutError:
            return TlsProbeResult("none", reason="timed out")
        except (OutboundError, BadUrl) as error:
            return TlsProbeResult("none", reason=printable(str(error)))

    async def _shake_hands(self, address: IpAddress, hostname: str, tls: ssl.SSLContext) -> TlsProbeResult:
        try:
            # by its checked address, so that nothing is resolved again
            _, writer = await asyncio.open_connection(str(address), self._port, ssl=tls, server_hostname=hostname)
        except ssl.SSLCertVerificationError as error:
            reason = f"tls: {error.verify_message or 'the certificate is not valid'}"
            return TlsProbeResult("bad", reason=printable(reason))
        except ssl.SSLError:
            return TlsProbeResult("none", reason="tls: the handshake failed")
        except OSError as error:
            return TlsProbeResult("none", reason=reason_of(error))
        try:
            expiry = writer.get_extra_info("peercert")["notAfter"]
        finally:
            writer.transport.abort()
        return TlsProbeResult("good", expires_at=datetime.fromtimestamp(ssl.cert_time_to_seconds(expiry), UTC))
