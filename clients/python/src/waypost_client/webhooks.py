"""Verifies and reads the requests that webhooks receive. Loads nothing that sends requests."""

import hmac
import json
import re
import time
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from waypost_client.errors import SignatureError
from waypost_client.models import EVENTS, Event

_Text: TypeAlias = str | bytes
Headers: TypeAlias = Mapping[str, Any] | Iterable[tuple[_Text, _Text]]
"""Headers as any framework has them: a mapping to texts or lists of texts, or pairs, also of bytes."""

_OWN = "x-signature"
_STANDARD = ("webhook-id", "webhook-timestamp", "webhook-signature")
_SIGNATURE = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})")
_TIME = re.compile(r"[0-9]{1,12}")
_DIGEST = re.compile(r"v1,([A-Za-z0-9+/]{43}=)")
_STANDARD_SECRET = re.compile(r"whsec_([A-Za-z0-9+/]{43}=)")


class _Signed(NamedTuple):
    at: str
    """Seconds since 1970."""
    start: str
    """What is signed before the body."""
    key: bytes
    digests: list[bytes]
    """One of these must be right."""


def verify_webhook(body: bytes, headers: Headers, secret: str, *, tolerance: float = 300) -> Event:
    """Return the event of a request that a webhook received. Raises SignatureError if it is not genuine.

    `body` is the raw body. JSON that was parsed and written again has other bytes and does not match. The signature is
    that of `X-Signature` or, without it, that of Standard Webhooks (`webhook-signature`). Its time may differ by
    `tolerance` seconds from the clock of this machine. A delivery can arrive more than once: its attempts have the same
    `id`. An event of an unknown type is an `Event` whose data is a dictionary.
    """
    if not isinstance(body, bytes | bytearray | memoryview):
        raise TypeError(f"body must be the raw bytes of the request, not {type(body).__name__}.")
    if not isinstance(secret, str) or not secret:
        raise TypeError("secret must be the signing secret of the webhook, such as whsec_…, and not empty.")
    signed = _read_signature(_by_name(headers), secret)
    expected = hmac.digest(signed.key, signed.start.encode() + body, "sha256")
    if not any(hmac.compare_digest(expected, digest) for digest in signed.digests):
        raise SignatureError("The signature does not match: the secret is another one, or the body was changed.")
    if abs(time.time() - int(signed.at)) > tolerance:
        raise SignatureError(f"The signature is more than {tolerance:g} seconds from the clock of this machine.")
    return _read_event(bytes(body))


def _read_signature(headers: dict[str, list[str]], secret: str) -> _Signed:
    if headers[_OWN] or not headers["webhook-signature"]:
        found = _SIGNATURE.fullmatch(_only(headers, _OWN))
        if not found:
            raise SignatureError("The X-Signature header is malformed.")
        return _Signed(found[1], f"{found[1]}.", secret.encode(), [bytes.fromhex(found[2])])
    id_, at, signatures = (_only(headers, name) for name in _STANDARD)
    key = _STANDARD_SECRET.fullmatch(secret)
    digests = [b64decode(each[1]) for each in map(_DIGEST.fullmatch, signatures.split(" ")) if each]
    if not _TIME.fullmatch(at) or not digests:
        raise SignatureError("The headers of Standard Webhooks are malformed, or have no signature of version v1.")
    if not key:
        raise SignatureError("The secret is older than Standard Webhooks: verify X-Signature.")
    return _Signed(at, f"{id_}.{at}.", b64decode(key[1]), digests)


def _only(headers: dict[str, list[str]], name: str) -> str:
    values = headers[name]
    if len(values) != 1:
        raise SignatureError(f"The request needs one {name.title()} header, and has {len(values)}.")
    return values[0]


def _by_name(headers: Headers) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in (_OWN, *_STANDARD)}
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        if (lower := _text(name).lower()) in found:
            found[lower] += [_text(each) for each in ([value] if isinstance(value, str | bytes) else value)]
    return found


def _text(value: _Text) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _read_event(body: bytes) -> Event:
    try:
        data = json.loads(body)
        return EVENTS.get(data["event"], Event).from_json(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SignatureError("The signature is right, but the body is not an event.") from error
