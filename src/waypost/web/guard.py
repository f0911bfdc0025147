"""API authentication and authorization.

In this order: HTTPS, key, suspension, plan, scope, rate limit.

Routing has already refused unknown paths and methods.
"""

from collections.abc import Sequence
from dataclasses import replace

from starlette.requests import Request

from waypost import accounts
from waypost.accounts import ApiCaller, CallerCache, RateLimiters, Scope, roles, suspension
from waypost.database import Database, KeyRing
from waypost.http.client_address import is_https, peer_address, rate_limit_key
from waypost.kit.clock import Clock, now
from waypost.kit.errors import BadRequest, Forbidden, PaymentRequired, RateLimited, Unauthenticated
from waypost.kit.proxies import Network, storable_address
from waypost.web.envelope import set_rate_limit
from waypost.web.idempotency import IdempotencyKeys

LACKS_ROLE = (
    "The person who created this API key has the role {} in the account, and this requires the role {}. Use a key of"
    " another person, or let an owner change the role."
)
LACKS_SCOPE = (
    "The API key lacks the scope {} that this endpoint needs."
    " Create a key that has it: scopes cannot be added to an existing key."
)


ADMITTED = "waypost.admitted"
"""Key in the ASGI scope: the caller of a request that this process makes for another one, which was admitted."""


class Guard:
    def __init__(
        self,
        db: Database,
        limiters: RateLimiters,
        key_ring: KeyRing,
        *,
        base_url: str,
        trusted: Sequence[Network] = (),
        contact: str = "",
        ip_privacy: str = "full",
        clock: Clock = now,
    ) -> None:
        """`contact`: whom users of a suspended account turn to."""
        self._callers = CallerCache(db)
        self._key_limiter = limiters.new("limits", limit=accounts.REQUESTS_PER_MINUTE)
        # for requests without a usable key
        self._ip_limiter = limiters.new("limits-unknown", limit=accounts.UNKNOWN_PER_MINUTE, slots=4_096)
        self._needs_https = base_url.startswith("https:")
        self._trusted = trusted
        self._contact = contact
        self._ip_privacy = ip_privacy
        self._clock = clock
        self.idempotency_keys = IdempotencyKeys(db, key_ring, clock)

    async def check(self, request: Request, scope: Scope | None) -> ApiCaller:
        """Return the caller. Raises WaypostError. `scope`: None accepts any valid key."""
        caller: ApiCaller | None = request.scope.get(ADMITTED)
        if caller is None:
            return await self.admit(request, scope)
        require_scope(caller, scope)
        return caller

    async def admit(self, request: Request, scope: Scope | None = None) -> ApiCaller:
        """Authenticate and count a request. Raises WaypostError."""
        self.refuse_plain_http(request)
        caller = await self._authenticate(request)
        result = await self._key_limiter.take(caller.key.id.bytes)  # counted whatever the response will be
        at = self._clock()
        if caller.account.suspended_at is not None:
            raise Forbidden(suspension.message(caller.account, self._contact))
        if not caller.account.plan.is_active(at):
            raise PaymentRequired
        require_scope(caller, scope)
        set_rate_limit(request, result, self._key_limiter.limit)
        if not result.allowed:
            raise RateLimited(result.retry_after)
        self._callers.record_use(caller, at)
        if request.method == "GET":  # only changes are recorded with the address
            return caller
        return replace(caller, request_ip=storable_address(peer_address(request, self._trusted), self._ip_privacy))

    async def flush(self) -> None:
        """Store when keys were last used. Called every few seconds and at shutdown."""
        await self._callers.flush()

    def refuse_plain_http(self, request: Request) -> None:
        """Raise BadRequest for plain HTTP if the base URL is https."""
        if self.is_plain_http(request):
            raise BadRequest("Use HTTPS: this request came over plain HTTP and nothing was done.")

    def is_plain_http(self, request: Request) -> bool:
        """Return whether a request came over plain HTTP although the base URL is https."""
        return self._needs_https and not is_https(request, self._trusted)

    async def _authenticate(self, request: Request) -> ApiCaller:
        kind, _, key = request.headers.get("authorization", "").partition(" ")
        caller = await self._callers.find(key.strip()) if kind.lower() == "bearer" else None
        if caller is None or not caller.key.is_usable(self._clock()):
            await self._ip_limiter.require(rate_limit_key(peer_address(request, self._trusted)))
            raise Unauthenticated
        return caller


def require_scope(caller: ApiCaller, scope: Scope | None) -> None:
    """Raise Forbidden if the key lacks the scope, or the role of the key's maker does not allow it."""
    if scope is None:
        return
    if scope not in caller.key.scopes:
        raise Forbidden(LACKS_SCOPE.format(scope))
    if caller.role and not roles.may(caller.role, roles.ACTION_OF_SCOPE[scope]):
        raise Forbidden(LACKS_ROLE.format(caller.role, roles.LEAST_ROLE[roles.ACTION_OF_SCOPE[scope]]))
