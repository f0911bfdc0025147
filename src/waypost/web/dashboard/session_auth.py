"""Sessions of the dashboard: who is signed in, and whether an unsafe request comes from our own pages.

Refuses cross-site requests with the visitor's cookie, even if the browser sends them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import AuthenticationResult, RateLimiters, roles, suspension
from waypost.accounts.members import store as memberships
from waypost.accounts.people import audit_entries as person_audit
from waypost.accounts.roles import Action
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sessions.store import PersonSession, Session
from waypost.database import Database
from waypost.http.client_address import peer_address
from waypost.http.cookies import Cookie
from waypost.kit.clock import Clock
from waypost.kit.errors import Forbidden, NotFound, PaymentRequired, WaypostError
from waypost.kit.proxies import Network, storable_address
from waypost.web.dashboard.form_account import ACCOUNTS, SESSION
from waypost.web.dashboard.page_error import PageError

_SAFE = {"GET", "HEAD"}
_COUNTED = "waypost.counted"
_PAGES = 600
"""Per person and minute."""
_EXPENSIVE = 20
"""Per account and minute, of each kind of action that costs more than a page."""
Access = Action | Literal["public", "person", "operator", "servers"]
"""Who may use a page: the members of the account whose role allows an action, everybody, every signed-in person,
operators, or other services' servers."""
CROSS_SITE = "This request did not come from a page of this service. Reload the page and try again."


class NotSignedIn(WaypostError):
    """Sign in to continue."""


class AccountSuspended(PageError, Forbidden):
    """The account is suspended."""


class NoAccount(WaypostError):
    """You are not a member of any account."""


class FactorRequired(WaypostError):
    """The account requires another way to sign in."""


class LacksRole(PageError, Forbidden):
    def __init__(self, session: Session, action: Action) -> None:
        least = roles.LEAST_ROLE[action]
        can_help = "An owner" if least == "owner" else "An owner or admin"
        message = (
            f"This needs the role {least}, and your role in the account {session.account.name} is {session.role}."
            f" {can_help} of the account can change your role."
        )
        super().__init__(message, title="Not allowed", next_step=("/account/members", "View members"))


class SessionAuth:
    def __init__(
        self,
        db: Database,
        limiters: RateLimiters,
        *,
        base_url: str,
        trusted: Sequence[Network],
        ip_privacy: str = "full",
        contact: str = "",
        clock: Clock,
    ) -> None:
        """`contact`: whom members of a suspended account turn to."""
        self._db = db
        self._pages = limiters.new("limits-pages", limit=_PAGES, slots=4_096)
        self._expensive = limiters.new("limits-expensive", limit=_EXPENSIVE, slots=8_192)
        self._base_url = base_url
        self._trusted = trusted
        self._ip_privacy = ip_privacy
        self._contact = contact
        self._clock = clock
        self._cookie = Cookie("waypost", is_secure=base_url.startswith("https:"))

    async def require_session(self, request: Request, action: Action) -> Session:
        """Return the session, of a member whose role allows the action.

        Raises NotSignedIn, NoAccount, FactorRequired, LacksRole, Forbidden for a cross-site request, and RateLimited.
        """
        session = await self.require_person(request)
        if not isinstance(session, Session):
            raise FactorRequired if session.missing else NoAccount
        if session.account.suspended_at is not None and action != "account.export":
            raise self._suspended(session)
        self.require_role(session, action)
        return session

    def require_role(self, session: Session, action: Action) -> None:
        """For pages where the input decides which action they take. Raises LacksRole."""
        if not roles.may(session.role, action):
            raise LacksRole(session, action)

    async def require_person(self, request: Request) -> PersonSession:
        """Return the session, also of a person without an account.

        Raises NotSignedIn, Forbidden for a cross-site request, and RateLimited.
        """
        self.require_same_origin(request)
        session = await self.find_session(request)
        if session is None:
            raise NotSignedIn
        return session

    async def require_operator(self, request: Request) -> PersonSession:
        """Return the session of an operator. Raises NotFound for other people, and as `require_person` does."""
        session = await self.require_person(request)
        if not session.person.is_operator:
            raise NotFound
        return session

    async def find_session(self, request: Request) -> PersonSession | None:
        """Return the session or None. Counts a request once, however often it is called. Raises RateLimited."""
        session = await self.peek_session(request)
        if session and _COUNTED not in request.scope:
            request.scope[_COUNTED] = True
            await self._pages.require(session.person.id.bytes)
        return session

    def _suspended(self, session: Session) -> AccountSuspended:
        message = suspension.message(session.account, self._contact)
        if roles.may(session.role, "account.export"):
            return AccountSuspended(message, title="Account suspended", next_step=("/account/data", "Export data"))
        return AccountSuspended(message, title="Account suspended", next_step=("/account", "Your profile"))

    async def limit_expensive(self, session: Session, action: str) -> None:
        """Count an action that costs more than a page; each kind has its own limit. Raises RateLimited."""
        await self._expensive.require(session.account.id.bytes + action.encode())

    def has_active_plan(self, session: Session) -> bool:
        return session.account.plan.is_active(self._clock())

    def require_active_plan(self, session: Session) -> None:
        """Without an active plan, users may only view, disable and delete. Raises PaymentRequired."""
        if not self.has_active_plan(session):
            raise PaymentRequired

    async def peek_session(self, request: Request) -> PersonSession | None:
        """Return the session or None, without rate limit and origin check."""
        if SESSION not in request.scope:
            token = self._cookie.read(request)
            session = await sessions.find(self._db, token, now=self._clock()) if token else None
            if session and request.method not in _SAFE:  # only changes are recorded with the address
                session = replace(session, request_ip=self.storable_address(request))
            if session and session.has_others:
                async with self._db.read() as tx:
                    request.scope[ACCOUNTS] = await memberships.list_of_person(tx, session.person.id)
            request.scope[SESSION] = session
        known: PersonSession | None = request.scope[SESSION]
        return known

    def require_same_origin(self, request: Request) -> None:
        if request.method in _SAFE:
            return
        site = request.headers.get("sec-fetch-site")
        if site is None:  # browsers before 2023 send only Origin
            origin = request.headers.get("origin", "")
            site = "same-origin" if origin == self._base_url else "cross-site"
        if site != "same-origin":
            raise Forbidden(CROSS_SITE)

    async def sign_in(
        self,
        request: Request,
        authenticated: AuthenticationResult,
        response: Response,
        *,
        is_recorded: bool = False,
    ) -> None:
        """Replace any session with a new one. Raises NotSignedIn if the credentials are no longer valid.

        `is_recorded`: it follows a change that has its own entry in the audit log.
        """
        before = await self.peek_session(request)
        is_same_person = before is not None and before.person.id == authenticated.person.id
        account_id = before.account.id if isinstance(before, Session) and is_same_person else None
        try:
            async with self._db.write() as tx:
                token = await sessions.create(
                    tx,
                    authenticated.person.id,
                    account_id=account_id,
                    user_agent=request.headers.get("user-agent", ""),
                    ip=self.storable_address(request),
                    now=self._clock(),
                    password=authenticated.password,
                    passkey=authenticated.passkey,
                    provider=authenticated.provider,
                    has_second_factor=authenticated.has_second_factor,
                    replaced=before,
                )
                if not is_recorded:
                    means = "passkey" if authenticated.passkey else authenticated.provider and "single sign-on"
                    details = {"with": means} if means else None
                    person, ip = authenticated.person, self.storable_address(request)
                    await person_audit.record(tx, person, ip, "person.signed_in", self._clock(), details=details)
        except NotFound:
            raise NotSignedIn from None
        self._cookie.set(response, token, max_age=int(sessions.MAX_AGE.total_seconds()))

    def storable_address(self, request: Request) -> str:
        """Return the IP address of the request, as the privacy setting allows to store it."""
        return storable_address(peer_address(request, self._trusted), self._ip_privacy)

    async def sign_out(self, request: Request, response: Response) -> None:
        session = await self.peek_session(request)
        if session:
            async with self._db.write() as tx:
                await sessions.end(tx, session.person.id, session.id)
        self._cookie.set(response, "", max_age=0)
