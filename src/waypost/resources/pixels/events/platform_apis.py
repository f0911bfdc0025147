"""The APIs of the platforms, as values: the request that reports page views, and what the response means.

Reasons contain no secrets, so they may be stored and shown.

- Meta: https://developers.facebook.com/docs/marketing-api/conversions-api/parameters
- TikTok: https://business-api.tiktok.com/portal/docs?id=1771100865818625
- Pinterest: https://developers.pinterest.com/docs/api/v5/events-create
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, Self

from waypost.outbound import OutboundResponse
from waypost.resources.pixels.events.model import PageView
from waypost.resources.pixels.platforms import AD_ACCOUNT_AND_TAG

MAX_WAIT = timedelta(hours=1)
_NONE = timedelta()
_MAX_REASON = 300  # characters
_MASK = "…"
_WORD = re.compile(r"[^\s\"'()<>,;:=]{6,}")
_META_VERSION = "v25.0"  # supported until July 2028
_META_TEMPORARY = {1, 2, 4, 17, 32, 341, 368, 613}  # internal errors and limits on calls, with status 400 or 403
_META_RATE_LIMITS = range(80_000, 80_015)  # limits of a single business
_TIKTOK_TOO_FREQUENT = 40_100
_TIKTOK_SERVER_ERRORS = range(50_000, 60_000)


@dataclass(frozen=True, slots=True)
class PlatformRequest:
    path: str
    headers: Mapping[str, str]
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many events of a request were accepted, and how many were rejected permanently."""

    sent: int = 0
    rejected: int = 0
    reason: str = ""
    """The text of the platform."""
    is_temporary: bool = False
    """The same request may be accepted later: its events stay pending."""
    wait: timedelta = _NONE
    """Time before the next attempt, as the platform asks."""
    summary: str = ""
    """For the log, without text from the platform."""

    @classmethod
    def temporary(cls, reason: str) -> Self:
        return cls(reason=reason, is_temporary=True, summary=reason)


class InvalidPixelId(Exception):
    """The platform accepts no such pixel id. The message says what its owner has to change."""


class PlatformApi(Protocol):
    def request(self, pixel_id: str, token: str, views: Sequence[PageView]) -> PlatformRequest:
        """Raises InvalidPixelId."""

    def verdict(self, status: int, content: Any, count: int) -> Verdict:
        """`content`: the response as JSON, or None; `count`: number of events sent."""

    def is_usable(self, view: PageView) -> bool:
        """Whether the view has what the platform requires. One event without it can fail its entire request."""


class _Meta:
    def request(self, pixel_id: str, token: str, views: Sequence[PageView]) -> PlatformRequest:
        """Put the token into the body: as part of the URL it would be logged."""
        if not (pixel_id.isascii() and pixel_id.isdigit()):
            raise InvalidPixelId("the pixel id is not a number, as Meta's are")
        content = {"data": [self._event(view) for view in views], "access_token": token}
        return PlatformRequest(f"/{_META_VERSION}/{pixel_id}/events", {}, content)

    def verdict(self, status: int, content: Any, count: int) -> Verdict:
        if 200 <= status < 300:
            return Verdict(sent=count)
        reason = _text_in(content, "error", "error_user_msg") or _text_in(content, "error", "message")
        code = _number_in(content, "error", "code")
        if code in _META_TEMPORARY or code in _META_RATE_LIMITS or _number_in(content, "error", "is_transient"):
            return Verdict(reason=reason, is_temporary=True)
        return Verdict(rejected=count, reason=reason)

    def is_usable(self, view: PageView) -> bool:
        return bool(view.user_agent)

    def _event(self, view: PageView) -> dict[str, Any]:
        """Build an event. None of this data about the visitor has to be hashed."""
        event = {
            "event_name": "PageView",
            "event_time": view.at,
            "event_id": view.id,
            "event_source_url": view.url,
            "action_source": "website",
            "user_data": _without_empty(client_ip_address=view.ip, client_user_agent=view.user_agent),
        }
        return event | _without_empty(referrer_url=view.referrer)


class _TikTok:
    def request(self, pixel_id: str, token: str, views: Sequence[PageView]) -> PlatformRequest:
        content = {"event_source": "web", "event_source_id": pixel_id, "data": [self._event(view) for view in views]}
        return PlatformRequest("/open_api/v1.3/event/track/", {"Access-Token": token}, content)

    def verdict(self, status: int, content: Any, count: int) -> Verdict:
        """Read the code in the body: rejections can have status 200."""
        code, reason = _number_in(content, "code"), _text_in(content, "message")
        if 200 <= status < 300 and code in {0, None}:
            return Verdict(sent=count)
        if code == _TIKTOK_TOO_FREQUENT or code in _TIKTOK_SERVER_ERRORS:
            return Verdict(reason=reason, is_temporary=True)
        return Verdict(rejected=count, reason=reason)

    def is_usable(self, view: PageView) -> bool:
        return bool(view.ip or view.user_agent)

    def _event(self, view: PageView) -> dict[str, Any]:
        """Build an event. IP address and user agent need no hash, unlike data that identifies a person."""
        return {
            "event": "Pageview",
            "event_time": view.at,
            "event_id": view.id,
            "user": _without_empty(ip=view.ip, user_agent=view.user_agent),
            "page": _without_empty(url=view.url, referrer=view.referrer),
        }


class _Pinterest:
    def request(self, pixel_id: str, token: str, views: Sequence[PageView]) -> PlatformRequest:
        match = AD_ACCOUNT_AND_TAG.fullmatch(pixel_id)
        if not match:
            raise InvalidPixelId("server-side events need the ad account: write the pixel id as ad_account/tag")
        content = {"data": [self._event(view) for view in views]}
        return PlatformRequest(f"/v5/ad_accounts/{match[1]}/events", {"Authorization": f"Bearer {token}"}, content)

    def verdict(self, status: int, content: Any, count: int) -> Verdict:
        """Count results per event; if some are rejected, the status is 422."""
        details = content.get("details", content) if isinstance(content, dict) else None
        events = details.get("events") if isinstance(details, dict) else None
        failed = [event for event in events if _has_failed(event)] if isinstance(events, list) else []
        if failed:
            return Verdict(max(0, count - len(failed)), len(failed), _text_in(failed[-1], "error_message"))
        if 200 <= status < 300:
            return Verdict(sent=count)
        return Verdict(rejected=count, reason=_text_in(content, "message"))

    def is_usable(self, view: PageView) -> bool:
        """Both are required, because no email address and no device is known."""
        return bool(view.ip and view.user_agent)

    def _event(self, view: PageView) -> dict[str, Any]:
        return {
            "event_name": "page_visit",
            "action_source": "web",
            "event_time": view.at,
            "event_id": view.id,
            "event_source_url": view.url,
            "user_data": {"client_ip_address": view.ip, "client_user_agent": view.user_agent},
        }


PLATFORM_APIS: Mapping[str, PlatformApi] = {"facebook": _Meta(), "tiktok": _TikTok(), "pinterest": _Pinterest()}


def _has_failed(event: Any) -> bool:
    return isinstance(event, dict) and event.get("status") == "failed"


def _without_empty(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}


def _text_in(content: Any, *keys: str) -> str:
    """Return the text at this path of keys; "" if there is none."""
    value = _value_in(content, keys)
    return value if isinstance(value, str) else ""


def _number_in(content: Any, *keys: str) -> int | None:
    value = _value_in(content, keys)
    return value if isinstance(value, int) else None


def _value_in(content: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def read_response(
    platform: str, response: OutboundResponse, count: int, secrets: Sequence[str], now: datetime
) -> Verdict:
    """Read the result of a request, with a reason that may be shown to the pixel's owner.

    `count`: number of events sent; `secrets`: texts that the platform may have quoted.
    """
    summary = f"{platform} answered {response.status}"
    verdict = PLATFORM_APIS[platform].verdict(response.status, _json(response), count)
    is_temporary = verdict.is_temporary or response.status in {408, 429} or response.status >= 500
    if not (is_temporary or verdict.rejected):
        return verdict
    text = without_secrets(verdict.reason, secrets)
    reason = f"{summary}: {text}" if text else summary
    if is_temporary:
        wait = _wait(response.headers.get("Retry-After", ""), now)
        return Verdict(reason=reason, is_temporary=True, wait=wait, summary=summary)
    return replace(verdict, reason=reason)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Mask secrets and parts of them, since platforms quote what they reject. Returns short, printable text."""
    hidden = sorted(filter(None, secrets), key=len, reverse=True)
    for secret in hidden:
        text = text.replace(secret, _MASK)
    text = _WORD.sub(lambda word: _MASK if _is_part(word[0].rstrip("."), hidden) else word[0], text)
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:_MAX_REASON]


def _is_part(word: str, secrets: Iterable[str]) -> bool:
    return any(word.rstrip(".…*") in secret for secret in secrets if len(word.rstrip(".…*")) >= 6)


def _wait(text: str, now: datetime) -> timedelta:
    """Parse a Retry-After header: seconds or a date."""
    try:
        wait = timedelta(seconds=int(text)) if text.isdigit() else parsedate_to_datetime(text) - now
    except (ValueError, OverflowError, TypeError):
        return _NONE
    return max(_NONE, min(MAX_WAIT, wait))


def _json(response: OutboundResponse) -> Any:
    """Parse the body; None if it is not JSON."""
    try:
        return response.json()
    except ValueError:
        return None
