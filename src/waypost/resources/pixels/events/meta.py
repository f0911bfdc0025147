"""Meta's Conversions API.

https://developers.facebook.com/docs/marketing-api/conversions-api/parameters
"""

from collections.abc import Sequence
from typing import Any

from waypost.resources.pixels.events.model import Event
from waypost.resources.pixels.events.platform import Platform, Request, Unsuitable, Verdict, number_in, text_in

_VERSION = "v25.0"  # supported until July 2028
_PASSING = {1, 2, 4, 17, 32, 341, 368, 613}  # faults of theirs, and their limits on calls; with status 400 or 403
_RATE_LIMITS = range(80_000, 80_015)  # those of a single business


def request(pixel_id: str, token: str, events: Sequence[Event]) -> Request:
    """The token is in the body: it would be in others' logs as part of the URL."""
    if not (pixel_id.isascii() and pixel_id.isdigit()):
        raise Unsuitable("the pixel id is not a number, as Meta's are")
    content = {"data": [_shown(event) for event in events], "access_token": token}
    return Request(f"/{_VERSION}/{pixel_id}/events", {}, content)


def verdict(status: int, content: Any, count: int) -> Verdict:
    if 200 <= status < 300:
        return Verdict(sent=count)
    reason = text_in(content, "error", "error_user_msg") or text_in(content, "error", "message")
    code = number_in(content, "error", "code")
    if code in _PASSING or code in _RATE_LIMITS or number_in(content, "error", "is_transient"):
        return Verdict(reason=reason, is_passing=True)
    return Verdict(rejected=count, reason=reason)


def is_usable(event: Event) -> bool:
    """Required of a website's event."""
    return bool(event.user_agent)


def _shown(event: Event) -> dict[str, Any]:
    """Of what is told of the visitor, nothing is to be hashed."""
    user = {"client_ip_address": event.ip, "client_user_agent": event.user_agent}
    shown = {
        "event_name": "PageView",
        "event_time": event.at,
        "event_id": event.id,
        "event_source_url": event.url,
        "action_source": "website",
        "user_data": {name: value for name, value in user.items() if value},
    }
    return shown | ({"referrer_url": event.referrer} if event.referrer else {})


META = Platform(request, verdict, is_usable)
