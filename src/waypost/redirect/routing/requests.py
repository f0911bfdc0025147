"""The visitor of a request. Reads only what a condition asks for, and loads only the data that routes need."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b

import structlog

from waypost.kit.errors import SettingsError
from waypost.kit.proxies import Network
from waypost.redirect.request import VisitRequest
from waypost.redirect.routing.rules import NEEDS, Condition, Routing, RoutingDecision, decide
from waypost.visitors.addresses import read_address
from waypost.visitors.agents import Agent, parse_user_agent
from waypost.visitors.languages import preferred_language
from waypost.visitors.queries import parse_query

log = structlog.get_logger(__name__)

_AGENTS, _COUNTRIES = 1, 2
_NEEDS = {"device": _AGENTS, "platform": _AGENTS, "browser": _AGENTS, "country": _COUNTRIES}
_MAX_USER_AGENT = 1_024  # bytes that distinguish visitors
_ADDRESSES = 4_096  # cached ones
_MAX_CACHED_LENGTH = 256  # bytes of forwarding headers

CountryOfAddress = Callable[[str], str]
"""Returns "" for an unknown country."""


def needs_of(conditions: Iterable[Condition]) -> int:
    """Return which data the conditions need, for the third part of a Routing."""
    needs = 0
    for type_, _, _ in conditions:
        needs |= _NEEDS.get(type_, 0)
    return needs


class VisitorReader:
    """One for each process."""

    def __init__(
        self, open_countries: Callable[[], CountryOfAddress], trusted_proxies: Sequence[Network], variant_key: bytes
    ) -> None:
        """`open_countries`: called when a route first needs countries; may raise SettingsError.

        `variant_key`: up to 64 secret bytes, the same on all nodes. Without it, nobody can compute a visitor's variant.
        """
        self.country_of_address: CountryOfAddress = lambda _: ""
        self.trusted_proxies = trusted_proxies
        self.new_hash = blake2b(digest_size=8, key=variant_key).copy  # a key for each costs as much as the hash
        self._cached_address = lru_cache(_ADDRESSES)(self._read_address)
        self._open_countries = open_countries
        self._loaded = 0
        self._loading = asyncio.Lock()

    def has_loaded(self, routing: Routing) -> bool:
        """Return whether a visitor of this routing can be read now, without `load`."""
        return not routing[NEEDS] & ~self._loaded

    async def load(self, routing: Routing) -> None:
        """Load what the routing needs, in a thread: it takes up to half a second, once for each process."""
        async with self._loading:
            missing = routing[NEEDS] & ~self._loaded
            if missing:
                await asyncio.to_thread(self._load, missing)
                self._loaded |= missing

    def _load(self, missing: int) -> None:
        if missing & _AGENTS:
            parse_user_agent(b"")
        if missing & _COUNTRIES:
            try:
                self.country_of_address = self._open_countries()
            except SettingsError as error:  # the file was removed since the start
                log.error("countries of visitors are unknown", error=str(error))
            self.country_of_address("192.0.2.1")  # the first call loads the data

    def decide(self, routing: Routing, link: bytes, request: VisitRequest) -> RoutingDecision:
        """Return where the visitor is sent. `load` has loaded what the routing needs. `link`: the id in hex."""
        return decide(routing, self.read(link, request), request.at)

    def address(self, request: VisitRequest) -> str:
        """Return the visitor's address. Parsing forwarding headers takes as long as all rules."""
        forwarded_for, forwarded = request.forwarded_for, request.forwarded
        is_short = len(forwarded_for) + len(forwarded) <= _MAX_CACHED_LENGTH
        return (self._cached_address if is_short else self._read_address)(request.peer, forwarded_for, forwarded)

    def _read_address(self, peer: bytes, forwarded_for: bytes, forwarded: bytes) -> str:
        return read_address(peer, forwarded_for, forwarded, self.trusted_proxies)

    def read(self, link: bytes, request: VisitRequest) -> "RequestVisitor":
        """`link`: the id in hex."""
        return RequestVisitor(self, link, request)


class RequestVisitor:
    __slots__ = ("_country", "_link", "_parameters", "_reader", "_request")

    def __init__(self, reader: VisitorReader, link: bytes, request: VisitRequest) -> None:
        self._reader = reader
        self._link = link
        self._request = request
        self._country: str | None = None
        self._parameters: Mapping[bytes, set[bytes]] | None = None

    @property
    def agent(self) -> Agent:
        return parse_user_agent(self._request.user_agent)

    @property
    def country(self) -> str:
        if self._country is None:
            self._country = self._reader.country_of_address(self._address())
        return self._country

    @property
    def language(self) -> str:
        return preferred_language(self._request.language)

    @property
    def query(self) -> Mapping[bytes, set[bytes]]:
        if self._parameters is None:
            self._parameters = parse_query(self._request.query)
        return self._parameters

    def draw(self, day: int) -> int:
        visitor = self._address().encode(), self._request.user_agent[:_MAX_USER_AGENT]
        identity = self._reader.new_hash()
        identity.update(b"%b%d\0%b\0%b" % (self._link, day, *visitor))
        return int.from_bytes(identity.digest()) * 100 >> 64

    def _address(self) -> str:
        return self._reader.address(self._request)
