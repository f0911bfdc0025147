"""API authentication and authorization, in the specification's order: HTTPS, key, plan, scope, rate limit.

Routing has already refused unknown paths and methods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Annotated
from uuid import UUID

from fastapi import Path as PathParameter
from starlette.requests import Request

from waypost import auth
from waypost.auth import ApiCaller, CallerCache, RateLimiter, Scope
from waypost.database import Database
from waypost.kit.clock import Clock, now
from waypost.kit.errors import (
    BadRequest,
    Forbidden,
    PaymentRequired,
    RateLimited,
    Unauthenticated,
)
from waypost.kit.ids import require_id
from waypost.kit.proxies import (
    ForwardingHeaders,
    Network,
    is_trusted,
    read_forwarded,
    visitor_address,
    visitor_scheme,
)
from waypost.web.envelope import note_budget
from waypost.web.internal import is_proxied

_UUID = PathParameter(json_schema_extra={"format": "uuid"})  # documented only: a malformed UUID is a 404, not a 422

LACKS_SCOPE = (
    "The API key lacks the scope {} that this endpoint needs."
    " Create a key that has it: scopes cannot be added to an existing key."
)


class Guard:
    def __init__(
        self, db: Database, *, data_dir: Path, base_url: str, trusted: Sequence[Network] = (), clock: Clock = now
    ) -> None:
        """All processes on this machine with the same data directory share the budgets."""
        run = data_dir / "run"
        self._callers = CallerCache(db)
        self._budget = RateLimiter(run / "limits", limit=auth.REQUESTS_PER_MINUTE)  # of a key
        # of an IP address, for requests without a usable key
        self._unknown = RateLimiter(run / "limits-unknown", limit=auth.UNKNOWN_PER_MINUTE, slots=4_096)
        self._needs_https = base_url.startswith("https:")
        self._trusted = trusted
        self._clock = clock

    def allow(self, scope: Scope | None) -> "Permission":
        """A dependency that gives the caller, or raises. None: any valid key will do."""
        return Permission(self, scope)

    async def check(self, request: Request, scope: Scope | None) -> ApiCaller:
        self.refuse_plain_http(request)
        caller = await self._authenticate(request)
        taken = await self._budget.take(caller.key.id.bytes)  # counted whatever the response will be
        at = self._clock()
        if not auth.is_plan_active(caller.account.plan, at):
            raise PaymentRequired
        if scope is not None and scope not in caller.key.scopes:
            raise Forbidden(LACKS_SCOPE.format(scope))
        note_budget(request, taken, self._budget.limit)
        if not taken.allowed:
            raise RateLimited(taken.retry_after)
        self._callers.record_use(caller, at)
        return caller

    async def flush(self) -> None:
        """Write when keys were last used. For a background task, every few seconds and at shutdown."""
        await self._callers.flush()

    def refuse_plain_http(self, request: Request) -> None:
        """Raise BadRequest for plain HTTP if the base URL is https."""
        if self._needs_https and not is_https(request, self._trusted):
            raise BadRequest("Use HTTPS: this request came over plain HTTP and nothing was done.")

    async def _authenticate(self, request: Request) -> ApiCaller:
        kind, _, key = request.headers.get("authorization", "").partition(" ")
        caller = await self._callers.find(key.strip()) if kind.lower() == "bearer" else None
        if caller is None or not auth.is_usable(caller.key, self._clock()):
            await self._unknown.require(rate_limit_key(peer_address(request, self._trusted)))
            raise Unauthenticated
        return caller


@dataclass(frozen=True, slots=True, eq=False)
class Permission:
    """A dependency of an endpoint. The OpenAPI document reads the scope from it."""

    guard: Guard
    scope: Scope | None

    async def __call__(self, request: Request) -> ApiCaller:
        return await self.guard.check(request, self.scope)


async def path_id(id: Annotated[str, _UUID]) -> UUID:  # noqa: A002  # the path parameter's name
    """A dependency for `{id}`. Raises NotFound if it is not a UUID."""
    return require_id(id)


def peer_address(request: Request, trusted: Sequence[Network]) -> str:
    """The visitor's IP address, from forwarding headers of trusted proxies."""
    return visitor_address(_peer(request), _forwarding_headers(request), trusted)


def is_https(request: Request, trusted: Sequence[Network]) -> bool:
    """The visitor's scheme, from forwarding headers of trusted proxies."""
    scheme, headers = request.scope["scheme"], _forwarding_headers(request)
    return visitor_scheme(scheme, _peer(request), headers, trusted) == "https"


class Arrival(Enum):
    """How a request arrived that is not known to have used HTTPS."""

    DIRECT = auto()
    """No sign of a proxy."""
    PLAIN_HTTP = auto()
    """A trusted proxy says plain HTTP."""
    UNSTATED = auto()
    """Through a proxy that does not say."""
    UNTRUSTED = auto()
    """An untrusted proxy says how, or a trusted one passes on an "https" that somebody before it wrote."""


def classify_arrival(request: Request, trusted: Sequence[Network]) -> Arrival:
    headers, is_known = _forwarding_headers(request), is_trusted(_peer(request), trusted)
    proto = f"{headers.x_forwarded_proto},{read_forwarded(headers.forwarded)[1]}".lower()
    if "http" in proto:
        return Arrival.PLAIN_HTTP if is_known and "https" not in proto else Arrival.UNTRUSTED
    return Arrival.UNSTATED if is_known or is_proxied(request) else Arrival.DIRECT


def _peer(request: Request) -> str:
    return request.client.host if request.client else ""


def rate_limit_key(address: str) -> bytes:
    """An IPv4 address, or the /64 of an IPv6 address: a single caller can have all of it."""
    try:
        parsed = ip_address(address)
    except ValueError:  # a peer without an address: a test's, a Unix socket's
        return address.encode()
    return parsed.packed[:8] if isinstance(parsed, IPv6Address) else parsed.packed


def _forwarding_headers(request: Request) -> ForwardingHeaders:
    names = ("x-forwarded-for", "x-forwarded-proto", "forwarded")
    return ForwardingHeaders(*(", ".join(request.headers.getlist(name)) for name in names))
