"""How often somebody may try to get in (R14). Strangers are counted by where they come from; whoever was here before,
in this browser and with this account, has a budget of their own, so that no neighbour can use it up.
"""

import hmac
from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import FileLimiter, Limiter, Taken
from waypost.accounts.sessions import Session
from waypost.kit.errors import RateLimited
from waypost.kit.proxies import Network
from waypost.web.guard import household, peer_address

_PER_PERSON = 10
_PER_ADDRESS = 60
_PER_NETWORK = 300
"""Attempts a minute; a network is a /48, of which a single customer has 65,536 addresses as we count them."""
_REMEMBERED = 365 * 24 * 3600


class Throttle:
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
    def open(cls, data_dir: Path, trusted: Sequence[Network], *, key: bytes, is_secure: bool) -> "Throttle":
        """Shared by all processes of this machine that have the same data directory."""
        run = data_dir / "run"
        person = FileLimiter(run / "limits-person", limit=_PER_PERSON, slots=8_192)
        address = FileLimiter(run / "limits-doors", limit=_PER_ADDRESS, slots=4_096)
        network = FileLimiter(run / "limits-networks", limit=_PER_NETWORK, slots=1_024)
        return cls((person, address, network), trusted, key=key, is_secure=is_secure)

    async def take(self, request: Request, email: str = "") -> bool:
        """Whether they were here before with this account. Raises RateLimited."""
        tag = self._known(request, email)
        if tag and (await self._per_person.take(b"known" + tag.encode())).allowed:
            return True
        address = household(peer_address(request, self._trusted))
        if len(address) == 8:  # of the 16 bytes of IPv6
            _refuse_unless(await self._per_network.take(address[:6]))
        _refuse_unless(await self._per_address.take(address))
        if email:
            _refuse_unless(await self._per_person.take(address + _plain(email)))
        return False

    async def take_signed_in(self, session: Session) -> None:
        """Who is in proves who they are. Raises RateLimited."""
        _refuse_unless(await self._per_person.take(b"session" + session.id.bytes))

    def remember(self, answer: Response, email: str) -> None:
        """That this browser's person has got in. The cookie names nobody, and lets nobody in."""
        tag = self._digest(b"known", _plain(email))
        answer.set_cookie(
            self._cookie,
            f"{tag}.{self._digest(b'seal', tag.encode())}",
            max_age=_REMEMBERED,
            secure=self._is_secure,
            httponly=True,
            samesite="lax",
        )

    def _known(self, request: Request, email: str) -> str:
        """Empty for a stranger, and for who was here with another account."""
        tag, _, seal = request.cookies.get(self._cookie, "").partition(".")
        is_ours = hmac.compare_digest(seal.encode(), self._digest(b"seal", tag.encode()).encode())
        is_theirs = not email or hmac.compare_digest(tag.encode(), self._digest(b"known", _plain(email)).encode())
        return tag if is_ours and is_theirs else ""

    def _digest(self, purpose: bytes, text: bytes) -> str:
        return hmac.digest(self._key, purpose + b"\0" + text, "sha256").hex()[:32]


def _refuse_unless(taken: Taken) -> None:
    if not taken.allowed:
        raise RateLimited(taken.retry_after)


def _plain(email: str) -> bytes:
    return email.strip().lower().encode(errors="replace")
