"""Every outbound request of this service: to public addresses only (SSRF protection), and within a deadline.

An idle process loads no DNS library. `acme` and `mail` are imported from their own modules, when they are used.
"""

from waypost.outbound.blocklist import Blocklist
from waypost.outbound.client import OperatorOutbound, Outbound, Post, Poster
from waypost.outbound.destination_checker import DestinationChecker
from waypost.outbound.dns_lookup import DnsLookup, printable
from waypost.outbound.dns_records import DnsRecords
from waypost.outbound.errors import (
    BadCertificate,
    BadRedirect,
    NoSuchHost,
    NotPublic,
    OutboundError,
    Unreachable,
    Unsafe,
    in_words,
)
from waypost.outbound.host_pace import HostPace
from waypost.outbound.limit import Pace
from waypost.outbound.page import PageMetadata
from waypost.outbound.response import OutboundResponse
from waypost.outbound.tls_probe import TlsProbe, TlsProbeResult
from waypost.outbound.url_safety import SafeBrowsing, UrlSafety
