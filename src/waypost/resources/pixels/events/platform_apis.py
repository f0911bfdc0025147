"""The APIs of the platforms, as values: the request that reports page views, and what the response means.

Reasons are in words that may be stored and shown.

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

LONGEST_WAIT = timedelta(hours=1)
_NONE = timedelta()
_LENGTH = 300
_MASK = "…"
_WORD = re.compile(r"[^\s\"'()<>,;:=]{6,}")
_META_VERSION = "v25.0"  # supported until July 2028
_META_TEMPORARY = {1, 2, 4, 17, 32, 341, 368, 613}  # their errors, and limits on calls; with status 400 or 403
_META_RATE_LIMITS = range(80_000, 80_015)  # those of a single business
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
    """As the platform words it."""
    is_temporary: bool = False
    """The same request may be accepted later: none of its events is settled."""
    wait: timedelta = _NONE
    """What the platform asks for before the next attempt."""
    summary: str = ""
    """For the log, without text from the platform."""

    @classmethod
    def temporary(cls, reason: str) -> Self:
        return cls(reason=reason, is_temporary=True, summary=reason)


class InvalidPixelId(Exception):
    """No request can be made with this pixel id. The message says what its owner has to change."""


class PlatformApi(Protocol):
    def request(self, pixel_id: str, token: str, views: Sequence[PageView]) -> PlatformRequest:
        """Raises InvalidPixelId."""

    def verdict(self, status: int, content: Any, count: int) -> Verdict:
        """`content`: the answer's JSON, or None; `count`: of the events sent."""

    def is_usable(self, view: PageView) -> bool:
        """Whether it has what the platform requires. Often a single event without it fails its entire request."""


class _Meta:
    def request(self, pixel_id: str, token: str, views: Sequence[PageView]) -> PlatformRequest:
        """The token is in the body: as part of the URL it would be in logs."""
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
        """Required of a website's event."""
        return bool(view.user_agent)

    def _event(self, view: PageView) -> dict[str, Any]:
        """Nothing of this data about the visitor has to be hashed."""
        event = {
            "event_name": "PageView",
            "event_time": view.at,
            "event_id": view.id,
            "event_source_url": view.url,
            "action_source": "website",
            "user_data": _given(client_ip_address=view.ip, client_user_agent=view.user_agent),
        }
        return event | _given(referrer_url=view.referrer)


class _TikTok:
    def request(self, pixel_id: str, token: str, views: Sequence[PageView]) -> PlatformRequest:
        content = {"event_source": "web", "event_source_id": pixel_id, "data": [self._event(view) for view in views]}
        return PlatformRequest("/open_api/v1.3/event/track/", {"Access-Token": token}, content)

    def verdict(self, status: int, content: Any, count: int) -> Verdict:
        """The code in the answer decides: rejections can have status 200."""
        code, reason = _number_in(content, "code"), _text_in(content, "message")
        if 200 <= status < 300 and code in {0, None}:
            return Verdict(sent=count)
        if code == _TIKTOK_TOO_FREQUENT or code in _TIKTOK_SERVER_ERRORS:
            return Verdict(reason=reason, is_temporary=True)
        return Verdict(rejected=count, reason=reason)

    def is_usable(self, view: PageView) -> bool:
        return bool(view.ip or view.user_agent)

    def _event(self, view: PageView) -> dict[str, Any]:
        """IP address and user agent as they are: only data that identifies a person has to be hashed."""
        return {
            "event": "Pageview",
            "event_time": view.at,
            "event_id": view.id,
            "user": _given(ip=view.ip, user_agent=view.user_agent),
            "page": _given(url=view.url, referrer=view.referrer),
        }


class _Pinterest:
    def request(self, pixel_id: str, token: str, views: Sequence[PageView]) -> PlatformRequest:
        found = AD_ACCOUNT_AND_TAG.fullmatch(pixel_id)
        if not found:
            raise InvalidPixelId("server-side events need the ad account: write the pixel id as ad_account/tag")
        content = {"data": [self._event(view) for view in views]}
        return PlatformRequest(f"/v5/ad_accounts/{found[1]}/events", {"Authorization": f"Bearer {token}"}, content)

    def verdict(self, status: int, content: Any, count: int) -> Verdict:
        """Each event has its own result; when some are rejected, the status is 422."""
        details = content.get("details", content) if isinstance(content, dict) else None
        events = details.get("events") if isinstance(details, dict) else None
        failed = [event for event in events if _has_failed(event)] if isinstance(events, list) else []
        if failed:
            return Verdict(max(0, count - len(failed)), len(failed), _text_in(failed[-1], "error_message"))
        if 200 <= status < 300:
            return Verdict(sent=count)
        return Verdict(rejected=count, reason=_text_in(content, "message"))

    def is_usable(self, view: PageView) -> bool:
        """Both are required where no email address or device is known."""
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


def _given(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}


def _text_in(content: Any, *keys: str) -> str:
    """The text found along `keys`; "" if there is none."""
    found = _value_in(content, keys)
    return found if isinstance(found, str) else ""


def _number_in(content: Any, *keys: str) -> int | None:
    found = _value_in(content, keys)
    return found if isinstance(found, int) else None


def _value_in(content: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def read_response(
    platform: str, answer: OutboundResponse, count: int, secrets: Sequence[str], now: datetime
) -> Verdict:
    """With a reason that may be shown to the pixel's owner.

    `count`: of the events sent; `secrets`: what the platform may have quoted.
    """
    summary = f"{platform} answered {answer.status}"
    verdict = PLATFORM_APIS[platform].verdict(answer.status, _json(answer), count)
    is_temporary = verdict.is_temporary or answer.status in {408, 429} or answer.status >= 500
    if not (is_temporary or verdict.rejected):
        return verdict
    text = without_secrets(verdict.reason, secrets)
    reason = f"{summary}: {text}" if text else summary
    if is_temporary:
        wait = _wait(answer.headers.get("Retry-After", ""), now)
        return Verdict(reason=reason, is_temporary=True, wait=wait, summary=summary)
    return replace(verdict, reason=reason)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Short and printable. Platforms quote what they reject: parts of a secret are masked, too."""
    hidden = sorted(filter(None, secrets), key=len, reverse=True)
    for secret in hidden:
        text = text.replace(secret, _MASK)
    text = _WORD.sub(lambda found: _MASK if _is_part(found[0].rstrip("."), hidden) else found[0], text)
    printable = "".join(each if each.isprintable() else " " for each in text)
    return " ".join(printable.split())[:_LENGTH]


def _is_part(word: str, secrets: Iterable[str]) -> bool:
    return any(word.rstrip(".…*") in secret for secret in secrets if len(word.rstrip(".…*")) >= 6)


def _wait(text: str, now: datetime) -> timedelta:
    """Seconds or a date, as in HTTP."""
    try:
        wait = timedelta(seconds=int(text)) if text.isdigit() else parsedate_to_datetime(text) - now
    except (ValueError, OverflowError, TypeError):
        return _NONE
    return max(_NONE, min(LONGEST_WAIT, wait))


def _json(answer: OutboundResponse) -> Any:
    """None if it is not JSON."""
    try:
        return answer.json()
    except ValueError:
        return None
