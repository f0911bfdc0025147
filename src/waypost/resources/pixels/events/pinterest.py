"""Pinterest's Conversions API.

https://developers.pinterest.com/docs/api/v5/events-create
"""

from collections.abc import Sequence
from typing import Any

from waypost.resources.pixels.events.model import Event
from waypost.resources.pixels.events.platform import Platform, Request, Unsuitable, Verdict, text_in
from waypost.resources.pixels.platforms import AD_ACCOUNT_AND_TAG


def request(pixel_id: str, token: str, events: Sequence[Event]) -> Request:
    found = AD_ACCOUNT_AND_TAG.fullmatch(pixel_id)
    if not found:
        raise Unsuitable("server-side events need the ad account: write the pixel id as ad_account/tag")
    content = {"data": [_shown(event) for event in events]}
    return Request(f"/v5/ad_accounts/{found[1]}/events", {"Authorization": f"Bearer {token}"}, content)


def verdict(status: int, content: Any, count: int) -> Verdict:
    """Each event is judged by itself; when some are refused, the status is 422."""
    told = content.get("details", content) if isinstance(content, dict) else None
    events = told.get("events") if isinstance(told, dict) else None
    refused = [event for event in events if _is_refused(event)] if isinstance(events, list) else []
    if refused:
        return Verdict(max(0, count - len(refused)), len(refused), text_in(refused[-1], "error_message"))
    if 200 <= status < 300:
        return Verdict(sent=count)
    return Verdict(rejected=count, reason=text_in(content, "message"))


def is_usable(event: Event) -> bool:
    """Required where no e-mail address or device is known."""
    return bool(event.ip and event.user_agent)


def _is_refused(event: Any) -> bool:
    return isinstance(event, dict) and event.get("status") == "failed"


def _shown(event: Event) -> dict[str, Any]:
    return {
        "event_name": "page_visit",
        "action_source": "web",
        "event_time": event.at,
        "event_id": event.id,
        "event_source_url": event.url,
        "user_data": {"client_ip_address": event.ip, "client_user_agent": event.user_agent},
    }


PINTEREST = Platform(request, verdict, is_usable)
