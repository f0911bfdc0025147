"""Checks whether a link's destination is reachable, public and safe, and reads the metadata of its page.

One request does all of it. `links` chooses the texts for users. A page's preview image is fetched in the same way.
"""

import asyncio
import re
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID
from weakref import WeakValueDictionary

import ada_url

from waypost.kit.clock import Clock, now
from waypost.kit.fair_queue import FairQueue, TimeBudget
from waypost.kit.urls import BadUrl, PrivateHost, Url
from waypost.outbound.client import Outbound
from waypost.outbound.cookies import SiteCookies
from waypost.outbound.errors import BadRedirect, NotPublic, TooManyRedirects, Unreachable, Unsafe
from waypost.outbound.host_pace import HostPace
from waypost.outbound.page import PageMetadata, read_metadata
from waypost.outbound.response import OutboundResponse
from waypost.outbound.url_safety import UrlSafety

CONNECT_TIMEOUT = 3.0
DEADLINE = 8.0  # seconds over all hops, without waits in queues, which are not the destination's fault
MAX_WAIT = 10.0  # seconds of waiting, in all queues together
READING_DEADLINE = 2.0
MAX_REDIRECTS = 5
MAX_HTML = 512 * 1024
MAX_LOCATION = 8_192  # characters; parsing grows with the square of a hostile host's length
MAX_CONCURRENT = 64
MAX_PER_ACCOUNT = 4
MAX_PER_HOST = 1

_BUSY = "Too many destinations are waiting to be checked. Try again in a moment."

_AGENT = {"User-Agent": "Mozilla/5.0 (compatible; Waypost; link check)"}
_NOT_ASCII = re.compile("[^\0-\x7f]")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class _Expected:
    """The expected response. A body of another type is not read."""

    types: tuple[str, ...]
    accept: str
    max_body: int


_PAGE = _Expected(("text/html", "application/xhtml+xml"), "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5", MAX_HTML)
_STATUS = _Expected((), _PAGE.accept, 0)
_IMAGES = ("image/jpeg", "image/jpg", "image/png", "image/webp", "image/gif")  # the second is wrong but common


class DestinationChecker:
    def __init__(self, outbound: Outbound, safety: UrlSafety, *, clock: Clock = now) -> None:
        self._outbound = outbound
        self._clock = clock
        self._safety = safety
        self._checks = FairQueue(MAX_CONCURRENT, per_key=MAX_PER_ACCOUNT, max_waiting_per_key=64, busy_message=_BUSY)
        self._hosts = WeakValueDictionary[str, FairQueue]()
        self._metadata_slots = FairQueue(1, per_key=1, busy_message=_BUSY)  # computing threads slow down the event loop

    async def fetch_metadata(self, url: Url, *, account: UUID, wait: TimeBudget | None = None) -> PageMetadata:
        """Fetch the page and read its metadata. `wait`: how long to wait in queues.

        Raises NotPublic, Unreachable, Unsafe; Busy if too many are waiting.
        """
        work, wait = TimeBudget(DEADLINE), wait or TimeBudget(MAX_WAIT)
        async with self._checks.slot(account, wait):
            response = await self._follow(url, _PAGE, account, work, wait)
        if 500 <= response.status < 600:  # sites reject bots (even with 999), and a link may precede its page
            raise Unreachable(f"the server responded {response.status}")
        async with self._metadata_slots.slot(account, wait):
            return await _read_metadata(response)

    async def find_status(self, url: Url, *, account: UUID, pace: HostPace) -> int:
        """Return the status of what the URL leads to, without its body. Waits as long as `pace` and others let it.

        Raises NotPublic, Unreachable, Unsafe; Busy if too many are waiting.
        """
        work, wait = TimeBudget(DEADLINE), TimeBudget(None)
        async with self._checks.slot(account, wait):
            return (await self._follow(url, _STATUS, account, work, wait, pace)).status

    async def fetch_image(self, url: Url, *, account: UUID, max_body: int) -> bytes:
        """Fetch a body of an image type; the caller checks that it is an image.

        Raises NotPublic, Unreachable, Unsafe; Unavailable when too many are waiting.
        """
        work, wait = TimeBudget(DEADLINE), TimeBudget(MAX_WAIT)
        expected = _Expected(_IMAGES, ",".join(_IMAGES), max_body + 1)
        async with self._checks.slot(account, wait):
            response = await self._follow(url, expected, account, work, wait)
        if response.status != 200 or not 0 < len(response.body) <= max_body:
            raise Unreachable("there is no image")
        return response.body

    def canonical(self, text: str) -> Url:
        """Parse the URL of a user. Raises BadUrl."""
        return self._outbound.canonical(text)

    async def check_url(self, url: Url) -> None:
        """Check a URL by the rules of `fetch_metadata`, without visiting it. Raises NotPublic, Unsafe."""
        await self.check_ip(url)
        await self._check_safety(url)

    async def find_unsafe(self, urls: Collection[Url]) -> set[Url]:
        """Return those that `check_url` would refuse as unsafe."""
        return await self._safety.find_unsafe(urls)

    async def check_ip(self, url: Url) -> None:
        """Check a URL whose host is an IP address, without a DNS lookup. Raises NotPublic."""
        if url.is_ip:
            await self._outbound.resolve(url)

    async def _follow(
        self,
        url: Url,
        expected: _Expected,
        account: UUID,
        work: TimeBudget,
        wait: TimeBudget,
        pace: HostPace | None = None,
    ) -> OutboundResponse:
        cookies = SiteCookies(self._clock)
        for _ in range(MAX_REDIRECTS + 1):
            # shared fairly among accounts, so that none can keep a host to itself
            host = self._hosts.setdefault(url.host, FairQueue(MAX_PER_HOST, per_key=MAX_PER_HOST, busy_message=_BUSY))
            async with host.slot(account, wait):
                if pace:
                    await pace.wait(url.host)
                try:
                    async with work.use():
                        response = await self._fetch(url, expected, cookies)
                except TimeoutError:
                    raise Unreachable("timed out") from None
            location = next(filter(None, response.headers.all("location")), None)
            if response.status not in _REDIRECTS or location is None:
                return response
            cookies.receive(url, response.headers.all("set-cookie"))
            url = self._redirect_target(url, location)
        raise TooManyRedirects("too many redirects")

    async def _fetch(self, url: Url, expected: _Expected, cookies: SiteCookies) -> OutboundResponse:
        """Fetch one hop."""
        await self._check_safety(url)
        return await self._outbound.request(
            "GET",
            url,
            headers={**_AGENT, "Accept": expected.accept, **cookies.header(url)},
            deadline=DEADLINE,
            connect_timeout=CONNECT_TIMEOUT,
            max_body=expected.max_body,
            body_types=expected.types,
        )

    def _redirect_target(self, url: Url, location: str) -> Url:
        """Parse the location like browsers do, and apply the rules for URLs of users."""
        location = _NOT_ASCII.sub(lambda byte: f"%{ord(byte[0]):02X}", location)
        if len(location) > MAX_LOCATION:
            raise BadRedirect("it redirects to a URL that is too long")
        try:
            return self.canonical(ada_url.join_url(url.text, location))
        except PrivateHost:
            raise NotPublic(f"{url.host} redirects to a private host") from None
        except BadUrl as error:
            raise BadRedirect(f"it redirects to a URL that cannot be used: {str(error).rstrip('.')}") from None
        except ValueError:
            raise BadRedirect("it redirects to an invalid URL") from None

    async def _check_safety(self, url: Url) -> None:
        if await self._safety.find_unsafe([url]):
            raise Unsafe(f"{url.host} is listed as unsafe")


async def _read_metadata(response: OutboundResponse) -> PageMetadata:
    """Read the metadata in a thread, so that no page can block the event loop. An error page has none."""
    if not response.body or not 200 <= response.status < 300:
        return PageMetadata()
    try:
        async with asyncio.timeout(READING_DEADLINE):
            return await asyncio.to_thread(
                read_metadata, response.body, response.headers.get("Content-Type"), response.url
            )
    except TimeoutError:
        return PageMetadata()
