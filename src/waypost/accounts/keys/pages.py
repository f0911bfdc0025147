"""Pages of API keys, and the public API reference. A new key is shown once."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Annotated, Any, Literal
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from waypost import accounts
from waypost.accounts import REQUESTS_PER_MINUTE, SCOPES, ApiKey, Scope, roles
from waypost.accounts.deps import Deps
from waypost.accounts.keys import store as key_store
from waypost.accounts.person_pages import PersonPages
from waypost.accounts.sessions.store import Session
from waypost.kit.errors import Invalid, NotFound, Problems, or_not_found
from waypost.kit.fields import Body, Text, Timestamp, max_entries, parse
from waypost.web.dashboard import Form, NotSignedIn, PageCall, shows
from waypost.web.dashboard.views import HEADERS

_PATH = "/integrations/api"
_PER_PAGE = 25
MAX_USABLE_KEYS = 50
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
    access: Literal["full", "read", "selected"] = "selected"
    scopes: Annotated[list[Text] | None, max_entries(len(SCOPES))] = None
    """If they are selected."""
    expires_at: Timestamp | None = None


class KeyPages(PersonPages):
    def endpoints(self) -> list[Route]:
        return [
            self.get(_PATH, shows("account/keys_list.html", self._find_all, **_CONTEXT), "view"),
            self.form(_PATH, self.create, "keys.write", self.new),
            self.get(f"{_PATH}/new", self.new, "keys.write"),
            self.get(_PATH + "/{id}", shows("account/keys_one.html", self._find, **_CONTEXT), "keys.write"),
            self.get(_PATH + "/{id}/revoke", shows("account/keys_revoke.html", self._find), "keys.write"),
            self.action(_PATH + "/{id}/revoke", self._revoke, "keys.write", _PATH, "key-revoked"),
            self.get("/docs", self.reference, "public"),
        ]

    async def _find_all(self, call: PageCall) -> dict[str, Any]:
        now, request = self._deps.clock(), call.pagination(_PER_PAGE)
        async with self._deps.db.read() as tx:
            page = await key_store.list_keys_page(tx, call.session.account.id, request, now)
            makers = await key_store.find_key_makers(tx, [key.id for key in page.items])
        return {
            "page": page,
            "makers": makers,
            "usable": {key.id for key in page.items if key.is_usable(now)},
            "has_assistants": find_spec("mcp") is not None,
            "has_active_plan": call.session.account.plan.is_active(now),
        }

    async def new(self, call: PageCall) -> Response:
        context = await self._reauthentication(call)
        return call.render("account/keys_new.html", _NEW, **_CONTEXT, **context)

    async def create(self, call: PageCall) -> Response:
        """Create a key. The response is a page instead of a redirect, because the key is shown only once."""
        fields = {**call.form.fields, "expires_at": call.preferences.read_day(call.form.text("expires_at"))}
        new, problems = parse(_NewKey, {name: value for name, value in fields.items() if value is not None})
        if new.access != "selected":
            scopes = [scope for scope in SCOPES if new.access == "full" or scope.endswith(":read")]
            new = new.model_copy(update={"scopes": scopes})
        if not new.scopes:
            problems.add("scopes", "Select at least one scope.")  # for the service no scopes means all
        await self._auth.limit_expensive(call.session, "key")
        try:
            call = await self._reauthenticated(call, problems)
            key, text = await self._create(call.session, new, problems)
        except NotFound:  # the session has ended
            raise NotSignedIn from None
        context: dict[str, Any] = {
            "key": key,
            "text": text,
            "has_active_plan": self._auth.has_active_plan(call.session),
        }
        return call.render("account/keys_created.html", status=201, **_CONTEXT, **context)

    async def _find(self, call: PageCall) -> dict[str, Any]:
        async with self._deps.db.read() as tx:
            key = or_not_found(await key_store.find_key(tx, call.session.account.id, call.id))
            maker = (await key_store.find_key_makers(tx, [key.id])).get(key.id)
        allowed = roles.allowed_scopes(key.scopes, maker.role) if maker and maker.role else key.scopes
        return {"key": key, "maker": maker, "allowed": allowed, "is_usable": key.is_usable(self._deps.clock())}

    async def _revoke(self, deps: Deps, session: Session, key_id: UUID) -> None:
        key = await accounts.get_key(deps.db, session.account.id, key_id)
        await accounts.revoke_key(deps.db, key.id, now=deps.clock(), session=session)

    async def reference(self, call: PageCall) -> Response:
        response = call.render("account/keys_reference.html", **_CONTEXT)
        response.headers["Content-Security-Policy"] = _REFERENCE_POLICY
        return response

    async def _reauthenticated(self, call: PageCall, problems: Problems) -> PageCall:
        """Require reauthentication. A wrong password is added to `problems`. Raises RateLimited."""
        try:
            return await self._require_recent(call)
        except Invalid as error:
            problems.errors.update(error.errors)
            return call

    async def _create(self, session: Session, new: _NewKey, problems: Problems) -> tuple[ApiKey, str]:
        """Create the key. Raises Invalid with all problems."""
        now = self._deps.clock()
        if not new.name.strip() and "name" not in problems:
            problems.add("name", "Enter a name.")
        if new.expires_at is not None and new.expires_at <= now:
            problems.add("expires_at", "The expiry must be in the future.")
        problems.raise_if_any()
        return await accounts.create_key(
            self._deps.db,
            account_id=session.account.id,
            name=new.name.strip(),
            scopes=new.scopes or (),
            now=now,
            expires_at=new.expires_at,
            max_usable=MAX_USABLE_KEYS,
            session=session,
        )
