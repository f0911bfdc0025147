"""Checks the password that a visitor of a protected link has sent."""

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


class PasswordChecker:
    def __init__(self, db: Database, limiters: RateLimiters) -> None:
        self._db = db
        self._attempts = limiters.new("link_password", limit=ATTEMPTS_PER_MINUTE, slots=4_096)
        self._attempts_of_network = limiters.new("link_networks", limit=ATTEMPTS_OF_NETWORK_PER_MINUTE, slots=1_024)

    async def check(self, link: bytes, password: str, address: str) -> int | None:
        """Return the version of the password, or None if it is wrong. Raises RateLimited and Unavailable.

        `link`: its id in hex. An attempt counts before it is checked, so that concurrent ones count each other. Those
        at one link wait in one queue: guesses at it do not delay signing in, or visitors of other links.
        """
        id_ = UUID(link.decode())
        client = rate_limit_key(address)
        await self._attempts.require(id_.bytes + client)
        await self._attempts_of_network.require(client[:6])
        async with self._db.point_read() as tx:
            of_link = await routing.find(tx, id_)
        stored = of_link.password_hash if of_link else None
        is_right = await accounts.verify_password(password, stored, SignInClient(id_.bytes))
        return of_link.password_version if of_link and is_right else None
