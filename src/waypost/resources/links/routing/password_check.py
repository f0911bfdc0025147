"""Checks the passwords that visitors of protected links and of shared statistics send."""

from uuid import UUID

from waypost import accounts
from waypost.accounts import RateLimiters, SignInClient
from waypost.database import Database
from waypost.http.client_address import rate_limit_key
from waypost.resources.links import routing

ATTEMPTS_PER_MINUTE = 20
"""Of one address at one link. Right ones count, too, and an office has one address."""
ATTEMPTS_OF_NETWORK_PER_MINUTE = 300
"""At all links: guesses at very many could keep all cores busy. A network is an IPv4 address or a /48."""


class PasswordAttempts:
    """Limits the attempts at what passwords protect: links, or shares."""

    def __init__(self, limiters: RateLimiters, kind: str) -> None:
        self._attempts = limiters.new(f"{kind}_password", limit=ATTEMPTS_PER_MINUTE, slots=4_096)
        self._of_network = limiters.new(f"{kind}_networks", limit=ATTEMPTS_OF_NETWORK_PER_MINUTE, slots=1_024)

    async def count(self, id_: UUID, address: str) -> None:
        """Count an attempt before it is checked, so that concurrent ones count each other. Raises RateLimited."""
        client = rate_limit_key(address)
        await self._attempts.require(id_.bytes + client)
        await self._of_network.require(client[:6])


async def is_right(id_: UUID, password: str, stored: str | None) -> bool:
    """Attempts at one link or share wait in one queue: guesses at it do not delay signing in, or visitors of others.

    Raises Unavailable.
    """
    return await accounts.verify_password(password, stored, SignInClient(id_.bytes))


class PasswordChecker:
    """Of links."""

    def __init__(self, db: Database, limiters: RateLimiters) -> None:
        self._db = db
        self._attempts = PasswordAttempts(limiters, "link")

    async def check(self, link: bytes, password: str, address: str) -> int | None:
        """Return the version of the password, or None if it is wrong. Raises RateLimited and Unavailable.

        `link`: its id in hex.
        """
        id_ = UUID(link.decode())
        await self._attempts.count(id_, address)
        async with self._db.point_read() as tx:
            of_link = await routing.find(tx, id_)
        stored = of_link.password_hash if of_link else None
        return of_link.password_version if await is_right(id_, password, stored) and of_link else None
