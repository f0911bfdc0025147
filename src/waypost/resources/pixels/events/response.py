"""What a platform's response means for the events sent, in words that may be stored and shown."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from waypost.outbound import OutboundResponse
from waypost.resources.pixels.events.platform_apis import PLATFORM_APIS, Verdict

LONGEST_WAIT = timedelta(hours=1)
_NONE = timedelta()
_LENGTH = 300
_MASK = "…"
_WORD = re.compile(r"[^\s\"'()<>,;:=]{6,}")


@dataclass(frozen=True, slots=True)
class PlatformResponse:
    verdict: Verdict
    """Its reason may be shown to the pixel's owner."""
    summary: str = ""
    """For the log, without text from the platform."""
    wait: timedelta = _NONE
    """What the platform asks for before the next attempt."""


def read_response(
    platform: str, answer: OutboundResponse, count: int, secrets: Sequence[str], now: datetime
) -> PlatformResponse:
    """`count`: of the events sent; `secrets`: what the platform may have quoted."""
    summary = f"{platform} answered {answer.status}"
    verdict = PLATFORM_APIS[platform].verdict(answer.status, _json(answer), count)
    is_temporary = verdict.is_temporary or answer.status in {408, 429} or answer.status >= 500
    if not (is_temporary or verdict.rejected):
        return PlatformResponse(verdict, summary)
    text = without_secrets(verdict.reason, secrets)
    reason = f"{summary}: {text}" if text else summary
    if is_temporary:
        wait = _wait(answer.headers.get("Retry-After", ""), now)
        return PlatformResponse(Verdict(reason=reason, is_temporary=True), summary, wait)
    return PlatformResponse(Verdict(verdict.sent, verdict.rejected, reason), summary)


def temporary(reason: str) -> PlatformResponse:
    return PlatformResponse(Verdict(reason=reason, is_temporary=True), reason)


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
