"""Pages of API keys, and the public API reference. A new key is shown once."""

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Annotated, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost import accounts
from waypost.accounts import REQUESTS_PER_MINUTE, SCOPES, ApiKey, Scope, is_plan_active, is_usable, roles
from waypost.accounts.deps import Deps
from waypost.accounts.sessions.store import Session
from waypost.accounts.sign_in.reauthentication import reauthentication_context, require_recent
from waypost.kit.errors import Invalid, NotFound, Problems, WaypostError
from waypost.kit.fields import Body, Text, Timestamp, max_entries, parse
from waypost.web import require_pagination
from waypost.web.dashboard import Form, NotSignedIn, Pages, get, post, redirect
from waypost.web.dashboard.views import HEADERS

_PATH = "/integrations/api"
_PER_PAGE = 25
_MAX_USABLE_KEYS = 50
_SCOPES: Mapping[Scope, str] = {
    "links:read": "View links, QR codes, clicks and statistics",
    "links:write": "Create, change and delete links, and change the style of their QR codes",
    "domains:read": "View domains",
    "domains:write": "Add, verify, change and delete domains",
    "pixels:read": "View pixels and the results of their events",
    "pixels:write": "Add, change and delete pixels",
    "webhooks:manage": "View, add, test and delete webhooks, and view their deliveries",
}
_NEW = Form({"scopes": ["links:read", "links:write"]})
_CONTEXT: Mapping[str, Any] = {"scopes": _SCOPES, "per_minute": REQUESTS_PER_MINUTE}
# Scalar adds inline styles to the page. It needs neither eval nor requests to other hosts.
_REFERENCE_POLICY = HEADERS["Content-Security-Policy"] + "; style-src 'self' 'unsafe-inline'"


class _NewKey(Body):
    name: Text = ""
    scopes: Annotated[list[Text] | None, max_entries(len(SCOPES))] = None
    expires_at: Timestamp | None = None


class KeyPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get(_PATH, self.list_keys, "view"),
            self.form(_PATH, self.create, "keys.write", self.new),
            get(f"{_PATH}/new", self.new, "keys.write"),
            get(_PATH + "/{id}", self.show, "keys.write"),
            get(_PATH + "/{id}/revoke", self.show_revocation, "keys.write"),
            post(_PATH + "/{id}/revoke", self.revoke, "keys.write"),
            get("/docs", self.reference, "public"),
        ]

    async def list_keys(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        now = self._deps.auth.clock()
        pagination = replace(require_pagination(request), per_page=_PER_PAGE)
        page = await accounts.list_keys_page(self._deps.auth.db, session.account.id, pagination, now=now)
        makers = await accounts.find_key_makers(self._deps.auth.db, page.items)
        usable = {key.id for key in page.items if is_usable(key, now)}
        has_active_plan = is_plan_active(session.account.plan, now)
        context: dict[str, Any] = {"page": page, "makers": makers, "usable": usable}
        context["has_assistants"] = find_spec("mcp") is not None
        return self._render(request, "list", has_active_plan=has_active_plan, **context)

    async def new(self, request: Request, form: Form = _NEW, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_session(request)
        context = await reauthentication_context(self._deps, session)
        return self._views.form(request, "account/keys_new.html", form, error, **_CONTEXT, **context)

    async def create(self, request: Request, session: Session, form: Form) -> Response:
        """Create a key. The response is a page instead of a redirect, because the key is shown only once."""
        new, problems = parse(_NewKey, {name: value for name, value in form.fields.items() if value is not None})
        if not new.scopes:
            problems.add("scopes", "Select at least one scope.")  # for the service no scopes means all
        await self._auth.limit_expensive(session, "key")
        try:
            session = await self._reauthenticated(session, form, problems)
            key, text = await self._create(session, new, problems)
        except NotFound:  # the session has ended
            raise NotSignedIn from None
        has_active_plan = is_plan_active(session.account.plan, self._deps.auth.clock())
        return self._render(request, "created", 201, key=key, text=text, has_active_plan=has_active_plan)

    async def show(self, request: Request) -> Response:
        key = await self._get_key(request)
        maker = (await accounts.find_key_makers(self._deps.auth.db, [key])).get(key.id)
        allowed = roles.allowed_scopes(key.scopes, maker.role) if maker and maker.role else key.scopes
        is_usable_now = is_usable(key, self._deps.auth.clock())
        return self._render(request, "one", key=key, maker=maker, allowed=allowed, is_usable=is_usable_now)

    async def show_revocation(self, request: Request) -> Response:
        return self._render(request, "revoke", key=await self._get_key(request))

    async def revoke(self, request: Request) -> Response:
        session, key = await self._auth.require_session(request), await self._get_key(request)
        await accounts.revoke_key(self._deps.auth.db, key.id, now=self._deps.auth.clock(), session=session)
        return redirect(_PATH, "key-revoked")

    async def reference(self, request: Request) -> Response:
        response = self._render(request, "reference")
        response.headers["Content-Security-Policy"] = _REFERENCE_POLICY
        return response

    async def _reauthenticated(self, session: Session, form: Form, problems: Problems) -> Session:
        """Require reauthentication. A wrong password is added to `problems`. Raises RateLimited."""
        try:
            return await require_recent(self._deps, session, form)
        except Invalid as error:
            problems.errors.update(error.errors)
            return session

    async def _create(self, session: Session, new: _NewKey, problems: Problems) -> tuple[ApiKey, str]:
        """Create the key. Raises Invalid with all problems."""
        now = self._deps.auth.clock()
        if not new.name.strip() and "name" not in problems:
            problems.add("name", "Enter a name.")
        if new.expires_at is not None and new.expires_at <= now:
            problems.add("expires_at", "The expiry must be in the future.")
        problems.raise_if_any()
        return await accounts.create_key(
            self._deps.auth.db,
            account_id=session.account.id,
            name=new.name.strip(),
            scopes=new.scopes or (),
            now=now,
            expires_at=new.expires_at,
            max_usable=_MAX_USABLE_KEYS,
            session=session,
        )

    async def _get_key(self, request: Request) -> ApiKey:
        session = await self._auth.require_session(request)
        return await accounts.get_key(self._deps.auth.db, session.account.id, self._path_id(request))

    def _render(self, request: Request, name: str, status: int = 200, **context: Any) -> Response:
        return self._views.render_page(request, f"account/keys_{name}.html", status=status, **{**_CONTEXT, **context})
