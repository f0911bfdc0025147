"""Sessions of the dashboard's requests: who is signed in, and whether an unsafe request comes from a page of ours.

Refuses to act on what another site sends with our visitor's cookie, whatever the browser lets through (R14).
"""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from waypost.auth import Authenticated, is_live, sessions
from waypost.auth.sessions import Session
from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.errors import Forbidden, NotFound, PaymentRequired, WaypostError
from waypost.kit.proxies import Network, storable_address
from waypost.web.dashboard.budgets import Budgets
from waypost.web.dashboard.views import SESSION
from waypost.web.guard import peer_address

_SAFE = {"GET", "HEAD"}
_COUNTED = "waypost.counted"
FOREIGN = "This request did not come from a page of this service. Open the page anew and try again."


class NotSignedIn(WaypostError):
    """Sign in to go on."""


class SessionAuth:
    def __init__(
        self,
        db: Database,
        budgets: Budgets,
        *,
        base_url: str,
        trusted: Sequence[Network],
        ip_privacy: str = "full",
        clock: Clock,
    ) -> None:
        self._db = db
        self._budgets = budgets
        self._base_url = base_url
        self._trusted = trusted
        self._ip_privacy = ip_privacy
        self._clock = clock
        is_secure = base_url.startswith("https:")
        self._is_secure = is_secure
        self._cookie = "__Host-waypost" if is_secure else "waypost"

    async def session(self, request: Request) -> Session:
        """Raises NotSignedIn, Forbidden for what another site sent, and RateLimited."""
        self.require_same_origin(request)
        found = await self.optional_session(request)
        if found is None:
            raise NotSignedIn
        return found

    async def optional_session(self, request: Request) -> Session | None:
        """Who asks, if somebody is signed in; a request counts once, however often it is asked. Raises RateLimited."""
        found = await self.read_session(request)
        if found and _COUNTED not in request.scope:
            request.scope[_COUNTED] = True
            await self._budgets.limit_page(found.account.id)
        return found

    async def limit_expensive(self, session: Session, what: str) -> None:
        """Before what costs us or somebody else more than a page. Raises RateLimited."""
        await self._budgets.limit_expensive(session.account.id, what)

    def is_live(self, session: Session) -> bool:
        return is_live(session.account.plan, self._clock())

    def require_live_plan(self, session: Session) -> None:
        """Who has no live plan may look, switch off and delete. Raises PaymentRequired."""
        if not self.is_live(session):
            raise PaymentRequired

    async def read_session(self, request: Request) -> Session | None:
        if SESSION not in request.scope:
            token = request.cookies.get(self._cookie)
            found = await sessions.find(self._db, token, now=self._clock()) if token else None
            request.scope[SESSION] = found
        session: Session | None = request.scope[SESSION]
        return session

    def require_same_origin(self, request: Request) -> None:
        if request.method in _SAFE:
            return
        site = request.headers.get("sec-fetch-site")
        if site is None:  # browsers of before 2023 say so in another way
            origin = request.headers.get("origin", "")
            site = "same-origin" if origin == self._base_url else "cross-site"
        if site != "same-origin":
            raise Forbidden(FOREIGN)

    async def sign_in(self, request: Request, proven: Authenticated, answer: Response) -> None:
        """A new session, whatever there was before. Raises NotSignedIn when what was proven holds no more."""
        before = await self.read_session(request)
        try:
            async with self._db.write() as tx:
                token = await sessions.create(
                    tx,
                    proven.account.id,
                    user_agent=request.headers.get("user-agent", ""),
                    ip=storable_address(peer_address(request, self._trusted), self._ip_privacy),
                    now=self._clock(),
                    password=proven.password,
                    passkey=proven.passkey,
                )
                if before:
                    await sessions.end(tx, before.account.id, before.id)
        except NotFound:
            raise NotSignedIn from None
        answer.set_cookie(
            self._cookie,
            token,
            max_age=int(sessions.AGE_LIMIT.total_seconds()),
            secure=self._is_secure,
            httponly=True,
            samesite="lax",
        )

    async def sign_out(self, request: Request, answer: Response) -> None:
        session = await self.read_session(request)
        if session:
            async with self._db.write() as tx:
                await sessions.end(tx, session.account.id, session.id)
        answer.delete_cookie(self._cookie, secure=self._is_secure, httponly=True, samesite="lax")
