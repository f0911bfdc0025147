"""Who is at the door: the browser's session, and whether an unsafe request comes from a page of ours.

Refuses to act on what another site sends with our visitor's cookie, whatever the browser lets through (R14).
"""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import Account, sessions
from waypost.accounts.sessions import Session
from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.errors import Forbidden, WaypostError
from waypost.kit.proxies import Network
from waypost.web.dashboard.views import SESSION
from waypost.web.guard import peer_address

_SAFE = {"GET", "HEAD"}
FOREIGN = "This request did not come from a page of this service. Open the page anew and try again."


class NotSignedIn(WaypostError):
    """Sign in to go on."""


class Reception:
    def __init__(self, db: Database, *, base_url: str, trusted: Sequence[Network], clock: Clock) -> None:
        self._db = db
        self._base_url = base_url
        self._trusted = trusted
        self._clock = clock
        is_secure = base_url.startswith("https:")
        self._is_secure = is_secure
        self._cookie = "__Host-waypost" if is_secure else "waypost"

    async def session(self, request: Request) -> Session:
        """Raises NotSignedIn, and Forbidden for what another site sent."""
        self.refuse_foreign(request)
        found = await self.whoever(request)
        if found is None:
            raise NotSignedIn
        return found

    async def whoever(self, request: Request) -> Session | None:
        if SESSION not in request.scope:
            token = request.cookies.get(self._cookie)
            found = await sessions.find(self._db, token, now=self._clock()) if token else None
            request.scope[SESSION] = found
        session: Session | None = request.scope[SESSION]
        return session

    def refuse_foreign(self, request: Request) -> None:
        if request.method in _SAFE:
            return
        site = request.headers.get("sec-fetch-site")
        if site is None:  # browsers of before 2023 say so in another way
            origin = request.headers.get("origin", "")
            site = "same-origin" if origin == self._base_url else "cross-site"
        if site != "same-origin":
            raise Forbidden(FOREIGN)

    async def sign_in(self, request: Request, account: Account, answer: Response) -> None:
        """A new session, whatever there was before."""
        before = await self.whoever(request)
        async with self._db.write() as tx:
            if before:
                await sessions.end(tx, before.account.id, before.id)
            token = await sessions.begin(
                tx,
                account.id,
                user_agent=request.headers.get("user-agent", ""),
                ip=peer_address(request, self._trusted),
                now=self._clock(),
            )
        answer.set_cookie(
            self._cookie,
            token,
            max_age=int(sessions.LASTS.total_seconds()),
            secure=self._is_secure,
            httponly=True,
            samesite="lax",
        )

    async def sign_out(self, request: Request, answer: Response) -> None:
        session = await self.whoever(request)
        if session:
            async with self._db.write() as tx:
                await sessions.end(tx, session.account.id, session.id)
        answer.delete_cookie(self._cookie, secure=self._is_secure, httponly=True, samesite="lax")
