"""Rate limits of sign-in. Unknown browsers are limited by IP address. A browser that a person has signed in
with has its own limit, which others at the same address cannot use up.
"""

import hmac
import secrets
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import AuthenticationResult, Person, RateLimiters, SignInClient
from waypost.accounts.model import PersonWithHash
from waypost.accounts.rules import normalize_email
from waypost.accounts.second_factor import store as second_factors
from waypost.accounts.sessions.store import PersonSession
from waypost.database import Database
from waypost.http.client_address import peer_address, rate_limit_key
from waypost.http.cookies import Cookie
from waypost.kit.proxies import Network

_PER_BROWSER = 10
_PER_ADDRESS = 60
_PER_NETWORK = 300
"""Attempts per minute. A network is a /48; one customer can have all its 65,536 addresses, each counted as a /64."""
_KNOWN_FOR = 365 * 24 * 3600  # seconds

NOBODY: PersonWithHash = (None, None)


class SignInLimiter:
    """Never limits by email alone: guesses from elsewhere must not lock out its owner."""

    def __init__(
        self, limiters: RateLimiters, trusted: Sequence[Network], *, key: bytes, is_secure: bool, db: Database
    ) -> None:
        """`key`: signs the cookie of known browsers."""
        self._db = db
        self._per_browser = limiters.new("limits-person", limit=_PER_BROWSER, slots=8_192)
        self._per_address = limiters.new("limits-sign-in", limit=_PER_ADDRESS, slots=4_096)
        self._per_network = limiters.new("limits-networks", limit=_PER_NETWORK, slots=1_024)
        self._trusted = trusted
        self._key = key
        self._cookie = Cookie("waypost-known", is_secure=is_secure)

    async def check(self, request: Request, email: str = "", person_with_hash: PersonWithHash = NOBODY) -> SignInClient:
        """Count an attempt and return its client. Raises RateLimited.

        `person_with_hash`: of the email. Without an email, a browser is known if anybody has signed in with it.
        """
        known = await self._known_id(request, person_with_hash if email else None)
        if known and (await self._per_browser.take(b"known" + known.encode())).allowed:
            return SignInClient(known.encode(), is_known=True)
        address = rate_limit_key(peer_address(request, self._trusted))
        if len(address) == 8:  # of the 16 bytes of IPv6
            await self._per_network.require(address[:6])
        await self._per_address.require(address)
        if email:
            await self._per_browser.require(address + normalize_email(email).encode(errors="replace"))
        return SignInClient(address)

    async def check_session(self, session: PersonSession) -> None:
        """Count an attempt of a reauthentication. Raises RateLimited."""
        await self._per_browser.require(b"session" + session.id.bytes)

    async def remember(self, response: Response, authenticated: AuthenticationResult) -> None:
        """Mark the browser as known. The cookie grants no access. A new password or second factor invalidates it."""
        known = f"{await self._person_digest(authenticated.person, authenticated.password)}.{secrets.token_hex(8)}"
        self._cookie.set(response, f"{known}.{self._digest(b'seal', known.encode())}", max_age=_KNOWN_FOR)

    async def _known_id(self, request: Request, person_with_hash: PersonWithHash | None) -> str:
        """Return the id that attempts are counted by; empty if the browser is unknown for this person and password.

        Each browser of a person has its own id. Without a person their browsers share one: otherwise each sign-in
        would add attempts.
        """
        known, _, signature = self._cookie.read(request).rpartition(".")
        person_digest = known.partition(".")[0]
        if not hmac.compare_digest(signature.encode(), self._digest(b"seal", known.encode()).encode()):
            return ""
        if person_with_hash is None:
            return person_digest
        person, password = person_with_hash
        if person is None:
            return ""
        is_theirs = hmac.compare_digest(person_digest, await self._person_digest(person, password))
        return known if is_theirs else ""

    async def _person_digest(self, person: Person, password: str | None) -> str:
        """Who knows the password could otherwise collect cookies before there is a second factor, to guess codes."""
        async with self._db.read() as tx:
            second_factor = await second_factors.find(tx, person.id)
        since = second_factor.created_at.isoformat() if second_factor else ""
        return self._digest(b"known", person.id.bytes + (password or "").encode() + since.encode())

    def _digest(self, purpose: bytes, text: bytes) -> str:
        return hmac.digest(self._key, purpose + b"\0" + text, "sha256").hex()[:32]
