"""How often somebody may try to get in (R14). Strangers are counted by where they come from; whoever was here before,
in this browser and with this account, has a budget of their own, so that no neighbour can use it up.
"""

import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from waypost.auth import Account, Authenticated, FileLimiter, Limiter, PasswordClient, RateLimitResult
from waypost.auth.sessions import Session
from waypost.kit.errors import RateLimited
from waypost.kit.proxies import Network
from waypost.web.guard import peer_address, rate_limit_key

_PER_PERSON = 10
_PER_ADDRESS = 60
_PER_NETWORK = 300
"""Attempts a minute; a network is a /48, of which a single customer has 65,536 addresses as we count them."""
_REMEMBERED = 365 * 24 * 3600

Owner = tuple[Account | None, str | None]
"""The account with an email, and its password's hash."""
NOBODY: Owner = (None, None)


class SignInLimiter:
    """Never counts an account alone: whoever guesses at it from elsewhere must not lock its owner out."""

    def __init__(
        self,
        limiters: tuple[Limiter, Limiter, Limiter],
        trusted: Sequence[Network],
        *,
        key: bytes,
        is_secure: bool,
    ) -> None:
        """`limiters`: of a person, of an address and of a network. `key` signs what known browsers keep."""
        self._per_person, self._per_address, self._per_network = limiters
        self._trusted = trusted
        self._key = key
        self._is_secure = is_secure
        self._cookie = "__Host-waypost-known" if is_secure else "waypost-known"

    @classmethod
    def open(cls, data_dir: Path, trusted: Sequence[Network], *, key: bytes, is_secure: bool) -> "SignInLimiter":
        """Shared by all processes of this machine that have the same data directory."""
        run = data_dir / "run"
        person = FileLimiter(run / "limits-person", limit=_PER_PERSON, slots=8_192)
        address = FileLimiter(run / "limits-sign-in", limit=_PER_ADDRESS, slots=4_096)
        network = FileLimiter(run / "limits-networks", limit=_PER_NETWORK, slots=1_024)
        return cls((person, address, network), trusted, key=key, is_secure=is_secure)

    async def take(self, request: Request, email: str = "", owner: Owner = NOBODY) -> PasswordClient:
        """Known is a browser with which the owner of this email's account has signed in, without an email anybody.

        Raises RateLimited.
        """
        known = self._known(request, owner if email else None)
        if known and (await self._per_person.take(b"known" + known.encode())).allowed:
            return PasswordClient(known.encode(), is_known=True)
        address = rate_limit_key(peer_address(request, self._trusted))
        if len(address) == 8:  # of the 16 bytes of IPv6
            _refuse_unless(await self._per_network.take(address[:6]))
        _refuse_unless(await self._per_address.take(address))
        if email:
            _refuse_unless(await self._per_person.take(address + _plain(email)))
        return PasswordClient(address)

    async def take_signed_in(self, session: Session) -> None:
        """Who is in proves who they are. Raises RateLimited."""
        _refuse_unless(await self._per_person.take(b"session" + session.id.bytes))

    def remember(self, answer: Response, proven: Authenticated) -> None:
        """That its person has signed in. The cookie names nobody, lets nobody in, and ends with the password."""
        known = f"{self._tag(proven.account, proven.password)}.{secrets.token_hex(8)}"
        answer.set_cookie(
            self._cookie,
            f"{known}.{self._digest(b'seal', known.encode())}",
            max_age=_REMEMBERED,
            secure=self._is_secure,
            httponly=True,
            samesite="lax",
        )

    def _known(self, request: Request, owner: Owner | None) -> str:
        """Whose budget counts; empty for a stranger, and for who was here with another account or password.

        Each browser of an owner has its own. Where no owner is named they share one: else somebody could sign in
        again and again to have many.
        """
        known, _, seal = request.cookies.get(self._cookie, "").rpartition(".")
        tag = known.partition(".")[0]
        if not hmac.compare_digest(seal.encode(), self._digest(b"seal", known.encode()).encode()):
            return ""
        if owner is None:
            return tag
        account, password = owner
        is_theirs = account is not None and hmac.compare_digest(tag, self._tag(account, password))
        return known if is_theirs else ""

    def _tag(self, account: Account, password: str | None) -> str:
        return self._digest(b"known", account.id.bytes + (password or "").encode())

    def _digest(self, purpose: bytes, text: bytes) -> str:
        return hmac.digest(self._key, purpose + b"\0" + text, "sha256").hex()[:32]


def _refuse_unless(taken: RateLimitResult) -> None:
    if not taken.allowed:
        raise RateLimited(taken.retry_after)


def _plain(email: str) -> bytes:
    return email.strip().lower().encode(errors="replace")
