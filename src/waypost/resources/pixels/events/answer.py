"""What a platform's answer means for the events sent, in words that may be kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from waypost.outbound import OutboundResponse
from waypost.resources.pixels.events.meta import META
from waypost.resources.pixels.events.pinterest import PINTEREST
from waypost.resources.pixels.events.platform import Platform, Verdict
from waypost.resources.pixels.events.tiktok import TIKTOK
from waypost.resources.pixels.events.words import shown

PLATFORMS: Mapping[str, Platform] = {"facebook": META, "tiktok": TIKTOK, "pinterest": PINTEREST}

LONGEST_WAIT = timedelta(hours=1)
_NONE = timedelta()


@dataclass(frozen=True, slots=True)
class PlatformResponse:
    verdict: Verdict
    """Its reason is fit to be shown to the pixel's owner."""
    what: str = ""
    """What happened, without a word of the platform's: for the log."""
    wait: timedelta = _NONE
    """What the platform asks for before the next attempt."""


def response_of(
    platform: str, answer: OutboundResponse, count: int, secrets: Sequence[str], now: datetime
) -> PlatformResponse:
    """`count`: of the events sent; `secrets`: what the platform may have quoted."""
    what = f"{platform} answered {answer.status}"
    verdict = PLATFORMS[platform].verdict(answer.status, _json(answer), count)
    is_passing = verdict.is_passing or answer.status in {408, 429} or answer.status >= 500
    if not (is_passing or verdict.rejected):
        return PlatformResponse(verdict, what)
    said = shown(verdict.reason, secrets)
    reason = f"{what}: {said}" if said else what
    if is_passing:
        return PlatformResponse(
            Verdict(reason=reason, is_passing=True), what, _wait(answer.headers.get("Retry-After", ""), now)
        )
    return PlatformResponse(Verdict(verdict.sent, verdict.rejected, reason), what)


def passing(what: str) -> PlatformResponse:
    return PlatformResponse(Verdict(reason=what, is_passing=True), what)


def _wait(text: str, now: datetime) -> timedelta:
    """Seconds or a date, as HTTP has it."""
    try:
        wait = timedelta(seconds=int(text)) if text.isdigit() else parsedate_to_datetime(text) - now
    except (ValueError, OverflowError, TypeError):
        return _NONE
    return max(_NONE, min(LONGEST_WAIT, wait))


def _json(answer: OutboundResponse) -> Any:
    """None for what is none."""
    try:
        return answer.json()
    except ValueError:
        return None
