"""The only way out. Whatever leaves this service leaves through here, to public addresses and within a deadline."""

from waypost.outbound.blocklist import Blocklist
from waypost.outbound.client import Answer, Outbound
from waypost.outbound.destination import Destinations
from waypost.outbound.errors import NotPublic, OutboundError, Unreachable, Unsafe
from waypost.outbound.page import Preview
from waypost.outbound.poster import Poster
from waypost.outbound.safe_browsing import SafeBrowsing
from waypost.outbound.safety import Safety

__all__ = [
    "Answer",
    "Blocklist",
    "Destinations",
    "NotPublic",
    "Outbound",
    "OutboundError",
    "Poster",
    "Preview",
    "SafeBrowsing",
    "Safety",
    "Unreachable",
    "Unsafe",
]
