"""Rate limits of sign-in (R14). Unknown browsers are limited by IP address. A browser that the account's owner has
signed in with has its own budget, which nobody else at the same address can use up.
"""

import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from waypost.auth import Account, AuthenticationResult, RateLimiter, SignInClient
from waypost.auth.sessions import Session
from waypost.kit.proxies import Network
from waypost.web.guard import peer_address, rate_limit_key

_PER_PERSON = 10
_PER_ADDRESS = 60
_PER_NETWORK = 300
"""Attempts per minute. A network is a /48; one customer can have all its 65,536 addresses, each counted as a /64."""
_KNOWN_FOR = 365 * 24 * 3600  # seconds

Owner = tuple[Account | None, str | None]
"""The account with an email, and its password hash."""
NO_OWNER: Owner = (None, None)


class SignInLimiter:
    """Never limits by account alone: guesses from elsewhere must not lock out its owner."""

    def __init__(self, data_dir: Path, trusted: Sequence[Network], *, key: bytes, is_secure: bool) -> None:
        """All processes of this machine with the same data directory share the limits.

        `key`: signs the cookie of known browsers.
        """
        run = data_dir / "run"
        self._per_person = RateLimiter(run / "limits-person", limit=_PER_PERSON, slots=8_192)
        self._per_address = RateLimiter(run / "limits-sign-in", limit=_PER_ADDRESS, slots=4_096)
        self._per_network = RateLimiter(run / "limits-networks", limit=_PER_NETWORK, slots=1_024)
        self._trusted = trusted
        self._key = key
        self._is_secure = is_secure
        self._cookie = "__Host-waypost-known" if is_secure else "waypost-known"

    async def take(self, request: Request, email: str = "", owner: Owner = NO_OWNER) -> SignInClient:
        """`owner`: of the email. Without an email, a browser is known if any owner has signed in with it.

        Raises RateLimited.
        """
        known = self._known_id(request, owner if email else None)
        if known and (await self._per_person.take(b"known" + known.encode())).allowed:
            return SignInClient(known.encode(), is_known=True)
        address = rate_limit_key(peer_address(request, self._trusted))
        if len(address) == 8:  # of the 16 bytes of IPv6
            await self._per_network.require(address[:6])
        await self._per_address.require(address)
        if email:
            await self._per_person.require(address + _normalized(email))
        return SignInClient(address)

    async def take_signed_in(self, session: Session) -> None:
        """For reauthentication. Raises RateLimited."""
        await self._per_person.require(b"session" + session.id.bytes)

    def remember(self, response: Response, authenticated: AuthenticationResult) -> None:
        """Marks the browser as known. The cookie identifies nobody and grants no access. A new password voids it."""
        known = f"{self._tag(authenticated.account, authenticated.password)}.{secrets.token_hex(8)}"
        response.set_cookie(
            self._cookie,
            f"{known}.{self._digest(b'seal', known.encode())}",
            max_age=_KNOWN_FOR,
            secure=self._is_secure,
            httponly=True,
            samesite="lax",
        )

    def _known_id(self, request: Request, owner: Owner | None) -> str:
        """Whose budget counts. Empty for an unknown browser, and for one of another account or an old password.

        Each browser of an owner has its own budget. Without an owner they share one: otherwise somebody could get more
        by signing in again and again.
        """
        known, _, seal = request.cookies.get(self._cookie, "").rpartition(".")
        tag = known.partition(".")[0]
        if not hmac.compare_digest(seal.encode(), self._digest(b"seal", known.encode()).encode()):
            return ""
        if owner is None:
            return tag
        account, password = owner
        is_owner = account is not None and hmac.compare_digest(tag, self._tag(account, password))
        return known if is_owner else ""

    def _tag(self, account: Account, password: str | None) -> str:
        return self._digest(b"known", account.id.bytes + (password or "").encode())

    def _digest(self, purpose: bytes, text: bytes) -> str:
        return hmac.digest(self._key, purpose + b"\0" + text, "sha256").hex()[:32]


def _normalized(email: str) -> bytes:
    return email.strip().lower().encode(errors="replace")
