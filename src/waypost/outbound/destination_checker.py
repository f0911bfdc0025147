"""Looks at a link's destination: is it reachable, public and safe, and what does its page say of itself?

One fetch answers all of it. What a user is told of a refusal is the links' business. The picture that a page names for
its card is fetched in the same way.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID
from weakref import WeakValueDictionary

import ada_url

from waypost.kit.fair_queue import Allowance, FairQueue
from waypost.kit.urls import BadUrl, Url, canonical
from waypost.outbound.client import Outbound, OutboundResponse
from waypost.outbound.errors import Unreachable, Unsafe
from waypost.outbound.page import PagePreview, read_preview
from waypost.outbound.safety import Safety

CONNECT_TIMEOUT = 3.0
DEADLINE = 8.0  # seconds over all hops; waiting for one's turn says nothing about the destination
PATIENCE = 10.0  # seconds of waiting, in all lines together
READING_DEADLINE = 2.0
MAX_REDIRECTS = 5
MAX_HTML = 512 * 1024
MAX_LOCATION = 8_192  # characters; parsing grows with the square of a hostile host's length
AT_ONCE = 64
PER_ACCOUNT = 4
PER_HOST = 1

_BUSY = "Too many destinations are waiting to be checked. Try again in a moment."

_AGENT = {"User-Agent": "Mozilla/5.0 (compatible; Waypost; link check)"}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is looked for; a body of another type is not read."""

    types: tuple[str, ...]
    accept: str
    max_body: int


_PAGE = _Kind(("text/html", "application/xhtml+xml"), "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5", MAX_HTML)
_PICTURES = ("image/jpeg", "image/jpg", "image/png", "image/webp", "image/gif")  # the second is wrong, and frequent


class DestinationChecker:
    def __init__(self, outbound: Outbound, safety: Safety) -> None:
        self._outbound = outbound
        self._safety = safety
        self._checks = FairQueue(AT_ONCE, each=PER_ACCOUNT, waiting_each=64, busy=_BUSY)
        self._hosts = WeakValueDictionary[str, FairQueue]()
        self._pages = FairQueue(1, each=1, busy=_BUSY)  # threads that compute slow down the event loop

    async def inspect(self, url: Url, *, account: UUID) -> PagePreview:
        """Raises NotPublic, Unreachable, Unsafe; Unavailable when too many wait before it."""
        work, patience = Allowance(DEADLINE), Allowance(PATIENCE)
        async with self._checks.slot(account, patience):
            answer = await self._follow(url, _PAGE, account, work, patience)
        async with self._pages.slot(account, patience):
            return await _preview(answer)

    async def fetch_image(self, url: Url, *, account: UUID, max_body: int) -> bytes:
        """What is there, if it says that it is a picture of pixels; whether it is one is for the caller to see.

        Raises NotPublic, Unreachable, Unsafe; Unavailable when too many wait before it.
        """
        work, patience = Allowance(DEADLINE), Allowance(PATIENCE)
        kind = _Kind(_PICTURES, ",".join(_PICTURES), max_body + 1)
        async with self._checks.slot(account, patience):
            answer = await self._follow(url, kind, account, work, patience)
        if answer.status != 200 or not 0 < len(answer.body) <= max_body:
            raise Unreachable("there is no picture")
        return answer.body

    async def check_url(self, url: Url) -> None:
        """The rules of `inspect` without a visit, and without a look-up of the name. Raises NotPublic, Unsafe."""
        await self.check_ip(url)
        await self._refuse_unsafe(url)

    async def check_ip(self, url: Url) -> None:
        """As far as it takes no look-up: of an IP address. Raises NotPublic."""
        if url.is_ip:
            await self._outbound.resolve(url)

    async def _follow(
        self, url: Url, kind: _Kind, account: UUID, work: Allowance, patience: Allowance
    ) -> OutboundResponse:
        for _ in range(MAX_REDIRECTS + 1):
            async with self._turn(url.host, account, patience):
                answer = await self._visit_within(work, url, kind)
            if answer.status not in _REDIRECTS or "Location" not in answer.headers:
                return answer
            url = _next(url, answer.headers["Location"])
        raise Unreachable("too many redirects")

    @asynccontextmanager
    async def _turn(self, host: str, account: UUID, patience: Allowance) -> AsyncIterator[None]:
        """A host's slot goes round among accounts, too, so that none can keep a host to itself."""
        queue = self._hosts.setdefault(host, FairQueue(PER_HOST, each=PER_HOST, busy=_BUSY))
        async with queue.slot(account, patience):
            yield

    async def _visit_within(self, work: Allowance, url: Url, kind: _Kind) -> OutboundResponse:
        try:
            async with work.spend():
                return await self._visit(url, kind)
        except TimeoutError:
            raise Unreachable("timed out") from None

    async def _visit(self, url: Url, kind: _Kind) -> OutboundResponse:
        """One hop. All but 5xx will do: bots are refused (with a 999, even), pages announced before they exist."""
        await self._refuse_unsafe(url)
        answer = await self._outbound.request(
            "GET",
            url,
            headers={**_AGENT, "Accept": kind.accept},
            deadline=DEADLINE,
            connect_timeout=CONNECT_TIMEOUT,
            max_body=kind.max_body,
            body_types=kind.types,
        )
        if 500 <= answer.status < 600:
            raise Unreachable(f"the server answered {answer.status}")
        return answer

    async def _refuse_unsafe(self, url: Url) -> None:
        if await self._safety.is_unsafe([url]):
            raise Unsafe(f"{url.host} is known to be unsafe")


def _next(url: Url, location: str) -> Url:
    """Read as a browser would, then held to the same rules as a URL that a user sent."""
    if len(location) > MAX_LOCATION:
        raise Unreachable("it redirects to a URL that is too long")
    try:
        return canonical(ada_url.join_url(url.text, location))
    except BadUrl as error:
        raise Unreachable(f"it redirects to a URL that cannot be used: {error}") from None
    except ValueError:
        raise Unreachable("it redirects to something that is not a URL") from None


async def _preview(answer: OutboundResponse) -> PagePreview:
    """In a thread, so that no page can stop the loop. An error page says nothing about the destination."""
    if not answer.body or not 200 <= answer.status < 300:
        return PagePreview()
    try:
        async with asyncio.timeout(READING_DEADLINE):
            return await asyncio.to_thread(read_preview, answer.body, answer.headers.get("Content-Type"), answer.url)
    except TimeoutError:
        return PagePreview()
