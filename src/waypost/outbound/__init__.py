"""The only way out. Whatever leaves this service leaves through here, to public addresses and within a deadline."""

from waypost.outbound.blocklist import Blocklist
from waypost.outbound.client import Outbound, OutboundResponse
from waypost.outbound.destination_checker import DestinationChecker
from waypost.outbound.dns_records import DnsLookup, DnsRecords, printable
from waypost.outbound.errors import NotPublic, OutboundError, Unreachable, Unsafe
from waypost.outbound.mail import Mailer
from waypost.outbound.page import PagePreview
from waypost.outbound.poster import Poster
from waypost.outbound.safe_browsing import SafeBrowsing
from waypost.outbound.safety import Safety
from waypost.outbound.tls_probe import TlsProbe, TlsProbeResult

__all__ = [
    "Blocklist",
    "DestinationChecker",
    "DnsLookup",
    "DnsRecords",
    "Mailer",
    "NotPublic",
    "Outbound",
    "OutboundError",
    "OutboundResponse",
    "PagePreview",
    "Poster",
    "SafeBrowsing",
    "Safety",
    "TlsProbe",
    "TlsProbeResult",
    "Unreachable",
    "Unsafe",
    "printable",
]
