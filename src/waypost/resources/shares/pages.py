"""Shared statistics as visitors see them: a page without navigation, its form for the password, and its files.

A page is kept for some seconds, and others are read one after the other for each account: many visitors of a share take
little from the dashboard of its account.
"""

import asyncio
import contextlib
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost.accounts import RateLimiters
from waypost.http.client_address import is_https, peer_address, rate_limit_key
from waypost.kit.clock import EPOCH
from waypost.kit.errors import Invalid, NotFound, RateLimited, Unavailable
from waypost.kit.fair_queue import FairQueue
from waypost.kit.proxies import Network
from waypost.kit.shared_cache import SharedCache
from waypost.redirect import password_pages
from waypost.redirect.password_pages import Cookies
from waypost.resources.clicks.dashboard import statistics
from waypost.resources.clicks.dashboard.statistics import StatsCall
from waypost.resources.clicks.store import ClicksUnavailable
from waypost.resources.links.routing.password_check import PasswordAttempts, is_right
from waypost.resources.shares import bounds, service
from waypost.resources.shares.deps import SEGMENT, Deps
from waypost.resources.shares.hiding import TooFew
from waypost.resources.shares.model import Share
from waypost.resources.shares.service import OpenShare
from waypost.resources.shares.statistics import TOO_LARGE, SharedStats, lists_of, offered_filters
from waypost.web.dashboard import PageCall, Pages, SessionAuth, Views, is_fragment_request
from waypost.web.dashboard.views import HEADERS

KEPT = timedelta(seconds=15)
"""How long a page is kept. Numbers are those of its beginning."""
UNKNOWN_PER_MINUTE = 60
"""Tokens that are not those of shares, from one network: nobody tries many."""
PAGES_PER_MINUTE = 120
"""Of one share, read for one network. Pages that are kept do not count."""
_PATH = f"/{SEGMENT}/{{token}}"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_FILE = ".csv"
_CACHE, _CACHE_EACH = 32 << 20, 4 << 20
"""Bytes of kept pages, and those of one account if others need space."""
_MAX_KEPT = 512 << 10
_ENTRY_BYTES = 3_000
"""Of memory beside the page."""
_MAX_QUERY = 2_048
_PAUSE = 0.005
"""Seconds between two visitors. Without pauses, hundreds of visitors would keep threads that read for others waiting
for the lock of the interpreter.
"""
_MAX_REST = 0.1
_OWN_SLOTS = UUID("7b1c3f0e-5a52-4d1f-9b7e-2f6d8c40a91b").int


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a visitor asks for who may see it."""

    request: Request
    opened: OpenShare
    is_file: bool
    now: datetime
    key: Hashable
    """Of the page, while it is kept."""


class SharedPages(Pages[Deps]):
    def __init__(
        self,
        deps: Deps,
        auth: SessionAuth,
        views: Views,
        *,
        limiters: RateLimiters,
        trusted: Sequence[Network],
        cookie_keys: Sequence[bytes],
    ) -> None:
        super().__init__(deps, auth, views)
        self._trusted = trusted
        self._cookies = Cookies(cookie_keys)
        self._unknown = limiters.new("shares-unknown", limit=UNKNOWN_PER_MINUTE, slots=4_096)
        self._read = limiters.new("shares-read", limit=PAGES_PER_MINUTE, slots=8_192)
        self._attempts = PasswordAttempts(limiters, "share")
        self._requests = FairQueue(1, per_key=1, max_waiting=1_024, max_waiting_per_key=256)
        self._queue = FairQueue(2, per_key=1, max_waiting=256, max_waiting_per_key=64)
        self._pages = SharedCache[Hashable, Response](_CACHE, _CACHE_EACH)
        self._locks = WeakValueDictionary[Hashable, asyncio.Lock]()

    def endpoints(self) -> list[Route]:
        return [
            self.get(_PATH, self._show, "public"),
            self.post(_PATH, self._enter, "public"),
            self.get(f"{_PATH}/embed/{{signature}}", self._embed, "public"),
        ]

    async def _show(self, call: PageCall) -> Response:
        request = call.request
        token, is_file = _split(call.token)
        async with self._requests.slot(self._client(request)):
            opened = await self._open(request, token)
            if opened.share.password_hash and not self._has_password(request, opened.share):
                return _ask_password()
            asked = self._ask(request, opened, is_file=is_file)
            kept = self._pages.get(asked.key)
            await asyncio.sleep(_PAUSE)
        return _copy(kept) if kept else await self._answer(asked)

    async def _embed(self, call: PageCall) -> Response:
        request = call.request
        signature, is_file = _split(request.path_params["signature"])
        async with self._requests.slot(self._client(request)):
            opened = await self._open(request, call.token)
            if not self._deps.is_signed(opened.share, signature):
                await self._unknown.require(self._client(request))
                raise NotFound
            asked = self._ask(request, opened, is_file=is_file)
            kept = self._pages.get(asked.key)
            await asyncio.sleep(_PAUSE)
        response = _copy(kept) if kept else await self._answer(asked)
        allowed = f"frame-ancestors {' '.join(opened.share.embed_origins)}"
        policy = HEADERS["Content-Security-Policy"].replace("frame-ancestors 'none'", allowed)
        response.headers["Content-Security-Policy"] = policy
        del response.headers["X-Frame-Options"]
        return response

    async def _enter(self, call: PageCall) -> Response:
        """Check the password that was sent. A right one opens the page."""
        request = call.request
        share = (await self._open(request, call.token)).share
        if share.password_hash is None:
            return RedirectResponse(_url_of(request), 303)
        password = await password_pages.read_password(request.receive)
        try:
            await self._attempts.count(share.id, peer_address(request, self._trusted))
            if not password or not await is_right(share.id, password, share.password_hash):
                return _ask_password(password_pages.WRONG)
        except RateLimited:
            return _ask_password(password_pages.TOO_MANY)
        except Unavailable:
            return _ask_password(password_pages.BUSY)
        response = RedirectResponse(_url_of(request), 303, {"Cache-Control": "private, no-store"})
        id_, now = share.id.hex.encode(), self._deps.clock().timestamp()
        sent, is_secure = request.headers.get("cookie", "").encode("latin-1"), is_https(request, self._trusted)
        for path in (request.url.path, f"{request.url.path}{_FILE}"):
            cookies = self._cookies.new(
                id_, share.access_version, now, path=path.encode(), header=sent, is_https=is_secure
            )
            response.raw_headers += [(b"set-cookie", cookie) for cookie in cookies]
        return response

    def _has_password(self, request: Request, share: Share) -> bool:
        header, id_ = request.headers.get("cookie", "").encode("latin-1"), share.id.hex.encode()
        return self._cookies.is_valid(header, id_, share.access_version, self._deps.clock().timestamp())

    async def _open(self, request: Request, token: str) -> OpenShare:
        """Raises NotFound, and RateLimited for a client that has tried many tokens."""
        if _TOKEN.fullmatch(token):
            with contextlib.suppress(NotFound):
                return await service.open_share(self._deps, token)
        await self._unknown.require(self._client(request))
        raise NotFound

    def _client(self, request: Request) -> bytes:
        return rate_limit_key(peer_address(request, self._trusted))

    def _ask(self, request: Request, opened: OpenShare, *, is_file: bool) -> _Asked:
        now = EPOCH + (self._deps.clock() - EPOCH) // KEPT * KEPT
        form = (  # of headers only what pages read of them: their text has any length
            is_fragment_request(request),
            is_fragment_request(request, "lists"),
            "gzip" in request.headers.get("accept-encoding", ""),
        )
        key = (opened.share.id, opened.share.updated_at, now, request.url.path, request.url.query, *form)
        return _Asked(request, opened, is_file, now, key)

    async def _answer(self, asked: _Asked) -> Response:
        """Read a page that is not kept. Those who ask for the same at the same time get the same."""
        share, query = asked.opened.share, asked.request.url.query
        async with self._locks.setdefault(asked.key, asyncio.Lock()):
            if kept := self._pages.get(asked.key):
                return _copy(kept)
            await self._read.require(self._client(asked.request) + share.id.bytes)
            response, is_complete = await self._render(asked)
            if is_complete and len(response.body) <= _MAX_KEPT and len(query) <= _MAX_QUERY:
                size = len(response.body) + len(query) + _ENTRY_BYTES
                self._pages.put(asked.key, response, size=size, owner=share.account_id)
            return _copy(response)

    async def _render(self, asked: _Asked) -> tuple[Response, bool]:
        """Return the page, and whether it is complete. Others of the account rest for as long as it took."""
        call, context = _read_call(asked)
        clock = asyncio.get_running_loop().time
        try:
            async with self._queue.slot(asked.opened.share.account_id):
                began = clock()
                response = await self._read_page(asked, call, context)
                await asyncio.sleep(min(clock() - began, _MAX_REST))
        except Unavailable:
            if asked.is_file:
                raise
            return self._respond(asked, call, {"is_unavailable": True}), False
        return response, response.status_code == 200

    async def _read_page(self, asked: _Asked, call: StatsCall, context: dict[str, Any]) -> Response:
        """Raises Unavailable."""
        deps, share = self._deps, asked.opened.share
        async with deps.click_store.reader(deps.db, own_slots(share.account_id)) as reader:
            source = SharedStats(reader, share, asked.now, shared_domain=deps.shared_domain)
            if asked.is_file:
                return await _file(call, source, share, context)
            if not context:
                call, context = await _read(call, source, share)
        if context.get("is_unavailable"):
            raise ClicksUnavailable
        return self._respond(asked, call, context)

    def _respond(self, asked: _Asked, call: StatsCall, context: dict[str, Any]) -> Response:
        share = asked.opened.share
        is_few = context.pop("is_few", False)
        context |= {"share": share, "files": call.files(f"{asked.request.url.path}{_FILE}", lists_of(share))}
        response = statistics.respond(self._views, call, "shares/shared.html", context)
        if is_few:
            response.status_code = 200
        response.headers["X-Robots-Tag"] = "noindex"
        return response


def own_slots(account: UUID) -> UUID:
    """Return the key of visitors' share of what all accounts share, beside that of the account's dashboard."""
    return UUID(int=account.int ^ _OWN_SLOTS)


def _read_call(asked: _Asked) -> tuple[StatsCall, dict[str, Any]]:
    """Return what is asked for, and what the page says if nothing can be seen yet."""
    request, opened, now = asked.request, asked.opened, asked.now
    share, context = opened.share, dict[str, Any]()
    try:
        choice = bounds.choose(request.query_params, share, since=opened.since, now=now)
    except bounds.NotStarted:
        choice = bounds.choose({}, bounds.without_range(share), since=opened.since, now=now)
        context = {
            "refusal": f"These statistics begin on {choice.preferences.day(share.range_start or now)}.",
            "is_few": True,
        }
    return statistics.read_call(request, choice, offered_filters(share), now, hide_below=share.hide_below), context


async def _read(call: StatsCall, source: SharedStats, share: Share) -> tuple[StatsCall, dict[str, Any]]:
    try:
        call = await source.check(call)
        return call, await statistics.read_page(call, source)
    except TooFew:
        return call, {"refusal": _few(share), "is_few": True}
    except Invalid:
        return call, {"refusal": TOO_LARGE}


async def _file(call: StatsCall, source: SharedStats, share: Share, context: Mapping[str, Any]) -> Response:
    if "refusal" in context:
        raise Invalid({"from": [context["refusal"]]})
    try:
        return await statistics.read_file(await source.check(call), source)
    except TooFew:
        raise Invalid({"from": [_few(share)]}) from None


def _few(share: Share) -> str:
    return f"There are fewer than {share.hide_below} clicks, which are not shown."


def _ask_password(error: str = "") -> Response:
    """Return the form of protected links. A wrong password has the same status."""
    response = Response(password_pages.page(error))
    response.raw_headers = [*password_pages.headers(), (b"content-length", b"%d" % len(response.body))]
    return response


def _copy(response: Response) -> Response:
    """Return a response whose headers can be changed."""
    copied = Response(response.body, response.status_code)
    copied.raw_headers = list(response.raw_headers)
    return copied


def _split(text: str) -> tuple[str, bool]:
    """Return the text without the ending of a file, and whether it has one."""
    return text.removesuffix(_FILE), text.endswith(_FILE)


def _url_of(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
