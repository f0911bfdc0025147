"""GET requests to the API of a source: JSON only, with bounds, waiting where the source asks for it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

from waypost.kit import bounded_json
from waypost.kit.urls import ANY_NAME, BadUrl, canonical
from waypost.outbound import NotPublic, Outbound, OutboundResponse, Pace, Unreachable
from waypost.resources.imports.source import NotThere, QuotaUsedUp, SourceError, UnexpectedAnswer, WrongToken

DEADLINE = 30.0
"""Seconds for one answer, fewer than those of a turn."""
PACE = Pace(first_byte=15.0, rate=16 << 10)
"""Some sources take long for their last pages, but none sends an answer slowly."""
MAX_BODY = 8 << 20  # bytes
_MAX_TARGET = 16 << 10  # characters of path and query
MAX_VALUES = 500_000
"""In one answer: a page of 1,000 clicks of Dub has up to 300,000."""
FIRST_WAIT, LONGEST_WAIT = 5.0, 60.0
"""Seconds to wait after a failed request, doubled each time."""
MAX_FAILURES = 8
"""In a row: then the source counts as down."""
MAX_RETRY_AFTER = 900.0
"""Seconds. A source that asks for more has a quota that is used up."""

T = TypeVar("T")
R = TypeVar("R")
Wait = Callable[[float, str], Awaitable[None]]
"""Waits so many seconds, for the reason given."""


class SourceClient:
    """The API of one source. `origin` is the vendor's, or what the operator entered (`https://host`)."""

    def __init__(
        self,
        outbound: Outbound,
        origin: str,
        *,
        headers: Mapping[str, str],
        wait: Wait,
        is_used_up: Callable[[OutboundResponse], bool] = lambda _: False,
    ) -> None:
        """`is_used_up`: whether a 429 means that a quota is used up, not that requests come too fast.

        Raises SourceError for an origin that is not a URL of a host, and for a token that cannot be sent.
        """
        try:
            self._origin = canonical(origin, private=ANY_NAME).text.rstrip("/")
        except BadUrl as error:
            raise SourceError(f"The URL of the source cannot be used: {error}") from None
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise WrongToken("The token has characters that no token has. Copy it again.")
        self._outbound = outbound
        self._headers = {**headers, "Accept": "application/json"}
        self._wait = wait
        self._is_used_up = is_used_up

    async def get(self, path: str, query: Mapping[str, str | int] | None = None) -> Any:
        """Return the JSON of the answer.

        Waits and repeats for 429, 5xx and failed connections. Raises NotThere for 404, WrongToken, QuotaUsedUp,
        UnexpectedAnswer, SourceError.
        """
        target = f"{path}?{urlencode(query)}" if query else path
        if len(target) > _MAX_TARGET:  # made of names in answers, and copied by all that handle a URL
            raise UnexpectedAnswer(f"{self._origin} sent a name of more than {_MAX_TARGET:,} characters.")
        url = canonical(self._origin + target, private=ANY_NAME)
        failures = 0
        while True:
            try:
                response = await self._outbound.request(
                    "GET",
                    url,
                    headers=self._headers,
                    deadline=DEADLINE,
                    connect_timeout=10.0,
                    max_body=MAX_BODY,
                    pace=PACE,
                )
                if response.status < 400:
                    return _json(response)
            except NotPublic:
                raise SourceError(
                    f"{url.host} is not a public address. The operator may allow its network, or its name, in"
                    " WAYPOST_OUTBOUND_ALLOW."
                ) from None
            except Unreachable as error:
                reason = f"{url.host} cannot be reached ({error.reason})"
                wait = None
            else:
                reason, wait = self._refusal(response)
            failures += 1
            if failures == MAX_FAILURES:
                raise SourceError(f"{reason}, {failures} times in a row. Start the import again to continue.")
            await self._wait(min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT) if wait is None else wait, reason)

    def _refusal(self, response: OutboundResponse) -> tuple[str, float | None]:
        """Return why the source refuses for now, and for how many seconds if it says so. Raises for any other error."""
        host, status = response.url.host, response.status
        if status == 403 and "X-Ratelimit-Reason" in response.headers:  # Bitly
            status = 429
        if status in {401, 403} and _is_page(response):
            raise UnexpectedAnswer(
                f"{host} answered with an HTML page ({status}), not as an API does: a firewall, a challenge for"
                " browsers or a sign-in page in front of it stops Waypost. Let it pass Waypost."
            )
        if status in {401, 403}:
            raise WrongToken(f"{host} refuses the token ({status}). Check that it may read links, and its workspace.")
        if status == 404:
            raise NotThere(f"{host} does not know {_path(response)} (404). Is it the right service and version?")
        if status != 429 and status < 500:
            raise UnexpectedAnswer(f"{host} refuses the request ({status}).")
        retry_after = _seconds(response.headers.get("Retry-After"))
        if status == 429 and (self._is_used_up(response) or (retry_after or 0) > MAX_RETRY_AFTER):
            raise QuotaUsedUp(f"The quota of {host} is used up. Start the import again later: it continues.")
        return f"{host} answered {status}", None if retry_after is None else min(retry_after, MAX_RETRY_AFTER)


def _json(response: OutboundResponse) -> Any:
    if len(response.body) >= MAX_BODY:
        raise UnexpectedAnswer(f"{response.url.host} sent more than {MAX_BODY >> 20} MiB in one answer.")
    if response.status >= 300:
        raise UnexpectedAnswer(f"{response.url.host} answered with a redirect. Enter the URL it leads to.")
    try:
        return bounded_json.loads(response.body, max_values=MAX_VALUES)
    except ValueError:
        if response.body.strip() == b"Unauthorized":  # Rebrandly
            raise WrongToken(f"{response.url.host} refuses the token. Check it, and its workspace.") from None
        if not response.is_complete:
            raise Unreachable("the response was cut off") from None
        raise UnexpectedAnswer(
            f"{response.url.host} sent something else than JSON. Is {_path(response)} its API?"
        ) from None


def _is_page(response: OutboundResponse) -> bool:
    return "html" in response.headers.get("Content-Type", "").lower() or "Cf-Mitigated" in response.headers


def _path(response: OutboundResponse) -> str:
    """The query of some services contains the token."""
    return response.url.text.partition("?")[0]


def _seconds(retry_after: str | None) -> float | None:
    """Dates are not worth a parser: the usual waiting time applies."""
    return float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else None


async def ask_each(found: Sequence[T], ask: Callable[[T], Awaitable[R]], *, at_once: int) -> list[R]:
    """Return what `ask` returns for each, in their order. Raises the first error."""
    places = asyncio.Semaphore(at_once)

    async def ask_one(each: T) -> R:
        async with places:
            return await ask(each)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask_one(each)) for each in found]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]
