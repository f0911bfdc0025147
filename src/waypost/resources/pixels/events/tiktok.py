"""TikTok's Events API.

https://business-api.tiktok.com/portal/docs?id=1771100865818625
"""

from collections.abc import Sequence
from typing import Any

from waypost.resources.pixels.events.model import Event
from waypost.resources.pixels.events.platform import Platform, Request, Verdict, number_in, text_in

_PATH = "/open_api/v1.3/event/track/"
_TOO_FREQUENT = 40_100
_FAULTS_OF_THEIRS = range(50_000, 60_000)


def request(pixel_id: str, token: str, events: Sequence[Event]) -> Request:
    content = {"event_source": "web", "event_source_id": pixel_id, "data": [_shown(event) for event in events]}
    return Request(_PATH, {"Access-Token": token}, content)


def verdict(status: int, content: Any, count: int) -> Verdict:
    """Refusals come with status 200, too: what holds is the code in the answer."""
    code, reason = number_in(content, "code"), text_in(content, "message")
    if 200 <= status < 300 and code in {0, None}:
        return Verdict(sent=count)
    if code == _TOO_FREQUENT or code in _FAULTS_OF_THEIRS:
        return Verdict(reason=reason, is_passing=True)
    return Verdict(rejected=count, reason=reason)


def is_usable(event: Event) -> bool:
    return bool(event.ip or event.user_agent)


def _shown(event: Event) -> dict[str, Any]:
    """Address and user agent as they are: only what names a person is to be hashed, and we have none of that."""
    return {
        "event": "Pageview",
        "event_time": event.at,
        "event_id": event.id,
        "user": _given(ip=event.ip, user_agent=event.user_agent),
        "page": _given(url=event.url, referrer=event.referrer),
    }


def _given(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}


TIKTOK = Platform(request, verdict, is_usable)
