"""Verifies and reads the requests that webhooks receive. Loads nothing that sends requests."""

import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from waypost_client.errors import SignatureError
from waypost_client.models import EVENTS, Event

_Text: TypeAlias = str | bytes
Headers: TypeAlias = Mapping[str, Any] | Iterable[tuple[_Text, _Text]]
"""Headers as any framework has them: a mapping to texts or lists of texts, or pairs, also of bytes."""

_HEADER = "x-signature"
_SIGNATURE = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})")


def verify_webhook(body: bytes, headers: Headers, secret: str, *, tolerance: float = 300) -> Event:
    """Return the event of a request that a webhook received. Raises SignatureError if it is not genuine.

    `body` is the raw body. JSON that was parsed and written again has other bytes and does not match. The time of
    the signature may differ by `tolerance` seconds from the clock of this machine. A delivery can arrive more than
    once: its attempts have the same `id`. An event of an unknown type is an `Event` whose data is a dictionary.
    """
    if not isinstance(body, bytes | bytearray | memoryview):
        raise TypeError(f"body must be the raw bytes of the request, not {type(body).__name__}.")
    if not isinstance(secret, str) or not secret:
        raise TypeError("secret must be the signing secret of the webhook, such as whsec_…, and not empty.")
    signed_at, signature = _read_signature(headers)
    expected = hmac.new(secret.encode(), f"{signed_at}.".encode() + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, signature):
        raise SignatureError("The signature does not match: the secret is another one, or the body was changed.")
    if abs(time.time() - int(signed_at)) > tolerance:
        raise SignatureError(f"The signature is more than {tolerance:g} seconds from the clock of this machine.")
    return _read_event(bytes(body))


def _read_signature(headers: Headers) -> tuple[str, str]:
    values = list(_values(headers))
    if len(values) != 1:
        raise SignatureError(f"The request needs one X-Signature header, and has {len(values)}.")
    found = _SIGNATURE.fullmatch(values[0])
    if not found:
        raise SignatureError("The X-Signature header is malformed.")
    return found[1], found[2]


def _values(headers: Headers) -> Iterator[str]:
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        if _text(name).lower() == _HEADER:
            for each in [value] if isinstance(value, str | bytes) else value:
                yield _text(each)


def _text(value: _Text) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _read_event(body: bytes) -> Event:
    try:
        data = json.loads(body)
        return EVENTS.get(data["event"], Event).from_json(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SignatureError("The signature is right, but the body is not an event.") from error
