"""The API's pages: the account's keys, each shown in full this once, and the reference that anybody may read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost.auth import (
    REQUESTS_PER_MINUTE,
    SCOPES,
    ApiKey,
    Scope,
    browse_keys,
    create_key,
    find_key,
    is_live,
    is_usable,
    revoke_key,
)
from waypost.auth.sessions import Session
from waypost.kit.errors import Invalid, NotFound, Problems, RateLimited
from waypost.kit.fields import Body, Text, Timestamp, max_entries, parse
from waypost.resources.account.auth_pages import faulty
from waypost.resources.account.deps import Deps
from waypost.resources.account.reauthentication import proof, require_recent
from waypost.web import page_request, path_id
from waypost.web.dashboard import Form, SessionAuth, Views, read_form
from waypost.web.dashboard.session_auth import NotSignedIn
from waypost.web.dashboard.views import HEADERS

_ALL = "/integrations/api"
_ONE = "/integrations/api/{id}/revoke"
_PER_PAGE = 25
_AT_MOST = 50
"""Keys of an account that can be used."""
_SCOPES: Mapping[Scope, str] = {
    "links:read": "See links, codes, clicks and figures",
    "links:write": "Make, change and delete links, and change the look of their codes",
    "domains:read": "See domains",
    "domains:write": "Register, check, change and remove domains",
    "pixels:read": "See pixels and what became of their events",
    "pixels:write": "Add, change and remove pixels",
    "webhooks:manage": "See, add, test and remove webhooks, and read what was sent to them",
}
_USUAL = ["links:read", "links:write"]
_SHARED: Mapping[str, Any] = {"scopes": _SCOPES, "per_minute": REQUESTS_PER_MINUTE}
# Scalar puts style attributes and a style element into the page. It needs no eval, and reaches nothing but ourselves.
_REFERENCE_POLICY = HEADERS["Content-Security-Policy"] + "; style-src 'self' 'unsafe-inline'"


class _NewKey(Body):
    name: Text = ""
    scopes: Annotated[list[Text] | None, max_entries(len(SCOPES))] = None
    expires_at: Timestamp | None = None


def routes(deps: Deps, auth: SessionAuth, views: Views) -> list[Route]:
    pages = _Pages(deps, auth, views)
    return [
        Route(_ALL, pages.browse, methods=["GET"]),
        Route(_ALL, pages.create, methods=["POST"]),
        Route(f"{_ALL}/new", pages.new, methods=["GET"]),
        Route(_ONE, pages.ask_to_revoke, methods=["GET"]),
        Route(_ONE, pages.revoke, methods=["POST"]),
        Route("/docs", pages.reference, methods=["GET"]),
    ]


class _Pages:
    def __init__(self, deps: Deps, auth: SessionAuth, views: Views) -> None:
        self._deps = deps
        self._db = deps.auth.db
        self._auth = auth
        self._views = views
        self._clock = deps.auth.clock

    async def browse(self, request: Request) -> Response:
        session = await self._auth.session(request)
        wanted, now = replace(page_request(request), per_page=_PER_PAGE), self._clock()
        page = await browse_keys(self._db, session.account.id, wanted, now=now)
        live = {key.id for key in page.items if is_usable(key, now)}
        notice = "The key is revoked." if "revoked" in request.query_params else ""
        is_paid = is_live(session.account.plan, now)
        return self._page(request, "list", page=page, live=live, is_paid=is_paid, notice=notice)

    async def new(self, request: Request) -> Response:
        session = await self._auth.session(request)
        return self._page(request, "new", form=Form({"scopes": _USUAL}), **await proof(self._deps, session))

    async def create(self, request: Request) -> Response:
        """Answers itself instead of leading on: nothing else ever shows the key."""
        session = await self._auth.session(request)
        form = await read_form(request)
        new, problems = parse(_NewKey, {name: value for name, value in form.fields.items() if value is not None})
        if not new.scopes:
            problems.add("scopes", "Choose at least one.")  # to the service, none means all
        await self._auth.limit_expensive(session, "key")
        try:
            session = await self._confirmed(session, form, problems)
            key, text = await self._create(session, new, problems)
        except (Invalid, RateLimited) as error:
            template, shown = "account/keys_new.html", {**_SHARED, **await proof(self._deps, session)}
            return faulty(self._views, request, template, form, error, **shown)
        except NotFound:  # the session ended meanwhile
            raise NotSignedIn from None
        is_paid = is_live(session.account.plan, self._clock())
        return self._page(request, "created", 201, key=key, text=text, is_paid=is_paid)

    async def ask_to_revoke(self, request: Request) -> Response:
        return self._page(request, "revoke", key=await self._find(request))

    async def revoke(self, request: Request) -> Response:
        key = await self._find(request)
        await revoke_key(self._db, key.id, now=self._clock())
        return RedirectResponse(f"{_ALL}?revoked=1", 303)

    async def reference(self, request: Request) -> Response:
        shown = self._page(request, "reference")
        shown.headers["Content-Security-Policy"] = _REFERENCE_POLICY
        return shown

    async def _confirmed(self, session: Session, form: Form, problems: Problems) -> Session:
        """A wrong password is one of the problems, so that one answer names them all. Raises RateLimited."""
        try:
            return await require_recent(self._deps, session, form)
        except Invalid as error:
            problems.errors.update(error.errors)
            return session

    async def _create(self, session: Session, new: _NewKey, problems: Problems) -> tuple[ApiKey, str]:
        """Raises Invalid that names every fault at once."""
        now = self._clock()
        if not new.name.strip() and "name" not in problems:
            problems.add("name", "Give it a name.")
        if new.expires_at is not None and new.expires_at <= now:
            problems.add("expires_at", "This must be in the future.")
        problems.raise_if_any()
        return await create_key(
            self._db,
            account_id=session.account.id,
            name=new.name.strip(),
            scopes=new.scopes or (),
            now=now,
            expires_at=new.expires_at,
            at_most=_AT_MOST,
            session=session,
        )

    async def _find(self, request: Request) -> ApiKey:
        session = await self._auth.session(request)
        return await find_key(self._db, session.account.id, await path_id(request.path_params["id"]))

    def _page(self, request: Request, name: str, status: int = 200, **told: Any) -> Response:
        return self._views.page(request, f"account/keys_{name}.html", status=status, **{**_SHARED, **told})
