"""Verifying the requests that webhooks receive."""

import hashlib
import hmac
import json
import time
from base64 import b64decode, b64encode
from typing import Any

import pytest
from waypost_client import Event, SignatureError, verify_webhook
from waypost_client.models import WebhookTestEvent

SECRET = "whsec_secret"
TEST = {
    "id": "01a1fbb2-9c42-7c11-b0d5-6a7e8f901234",
    "api_version": "v1",
    "event": "webhook.test",
    "created_at": "2026-11-20T02:56:16+00:00",
    "data": {"webhook_id": "01a1fbb2-9c42-7c11-b0d5-6a7e8f901235"},
}


def body(**changes: Any) -> bytes:
    return json.dumps({**TEST, **changes}).encode()


def signed(raw: bytes, *, at: int | None = None, secret: str = SECRET) -> str:
    moment = int(time.time()) if at is None else at
    return f"t={moment},v1={hmac.new(secret.encode(), f'{moment}.'.encode() + raw, hashlib.sha256).hexdigest()}"


@pytest.mark.parametrize(
    "headers",
    [
        lambda value: {"X-Signature": value},
        lambda value: {"x-signature": value},
        lambda value: {"X-SIGNATURE": [value]},
        lambda value: [("Host", "a"), ("X-Signature", value)],
        lambda value: [(b"host", b"a"), (b"x-signature", value.encode())],
        lambda value: {"Host": "a", "X-Signature": (value,), "Accept": ["a", "b"]},
    ],
)
def test_takes_headers_as_frameworks_have_them(headers: Any) -> None:
    event = verify_webhook(body(), headers(signed(body())), SECRET)
    assert isinstance(event, WebhookTestEvent)
    assert event.data.webhook_id == TEST["data"]["webhook_id"]
    assert event.created_at.isoformat() == TEST["created_at"]


def test_an_unknown_event_has_a_dictionary() -> None:
    raw = body(event="link.moved", data={"a": 1}, more=True)
    event = verify_webhook(raw, {"X-Signature": signed(raw)}, SECRET)
    assert (type(event), event.event, event.data) == (Event, "link.moved", {"a": 1})


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_takes_bytes_of_each_kind(kind: Any) -> None:
    assert verify_webhook(kind(body()), {"X-Signature": signed(body())}, SECRET).event == "webhook.test"


@pytest.mark.parametrize("change", ["t", "v1", "body", "secret"])
def test_refuses_what_was_changed(change: str) -> None:
    value = signed(body(), secret="whsec_other" if change == "secret" else SECRET)
    if change == "t":
        value = value.replace("t=", "t=1", 1)
    if change == "v1":
        value = value[:-1] + ("0" if value[-1] != "0" else "1")
    with pytest.raises(SignatureError, match="signature does not match"):
        verify_webhook(body() + b" " * (change == "body"), {"X-Signature": value}, SECRET)


@pytest.mark.parametrize(
    "value", ["", "t=1", "v1=" + "a" * 64, "t=x,v1=" + "a" * 64, "t=1,v1=" + "A" * 64, "t=\u0661,v1=" + "a" * 64]
)
def test_refuses_a_malformed_header(value: str) -> None:
    with pytest.raises(SignatureError, match="malformed"):
        verify_webhook(body(), {"X-Signature": value}, SECRET)


def test_refuses_none_and_two_signatures() -> None:
    value = signed(body())
    for headers in ({}, {"X-Signature": [value, value]}, [("x-signature", value), ("X-Signature", value)]):
        with pytest.raises(SignatureError, match="needs one X-Signature"):
            verify_webhook(body(), headers, SECRET)


@pytest.mark.parametrize("seconds", [-310, 310])
def test_refuses_an_old_signature_and_one_of_the_future(seconds: int) -> None:
    headers = {"X-Signature": signed(body(), at=int(time.time()) + seconds)}
    with pytest.raises(SignatureError, match="more than 300 seconds"):
        verify_webhook(body(), headers, SECRET)
    assert verify_webhook(body(), headers, SECRET, tolerance=400).event == "webhook.test"


STANDARD_SECRET = "whsec_" + b64encode(bytes(range(32))).decode()


def standard(raw: bytes, *, at: int | None = None, secret: str = STANDARD_SECRET) -> dict[str, str]:
    moment, key = str(at or int(time.time())), b64decode(secret.removeprefix("whsec_"))
    signature = b64encode(hmac.digest(key, f"msg_1.{moment}.".encode() + raw, "sha256")).decode()
    return {"webhook-id": "msg_1", "Webhook-Timestamp": moment, "WEBHOOK-SIGNATURE": f"v1a,x v1,AAAA v1,{signature}"}


def test_takes_the_headers_of_standard_webhooks() -> None:
    assert verify_webhook(body(), standard(body()), STANDARD_SECRET).event == "webhook.test"
    both = {**standard(body()), "X-Signature": signed(body(), secret=STANDARD_SECRET)}
    assert verify_webhook(body(), both, STANDARD_SECRET).event == "webhook.test"
    with pytest.raises(SignatureError, match="does not match"):
        verify_webhook(body(), {**both, "X-Signature": signed(b"")}, STANDARD_SECRET)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"webhook-id": "msg_2"}, "does not match"),
        ({"WEBHOOK-SIGNATURE": "v1," + "A" * 43 + "="}, "does not match"),
        ({"WEBHOOK-SIGNATURE": "v1,A"}, "malformed"),
        ({"WEBHOOK-SIGNATURE": ""}, "malformed"),
        ({"Webhook-Timestamp": "now"}, "malformed"),
        ({"Webhook-Timestamp": []}, "needs one Webhook-Timestamp header, and has 0"),
        ({"webhook-id": ["a", "b"]}, "needs one Webhook-Id header, and has 2"),
    ],
)
def test_refuses_other_headers_of_standard_webhooks(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(SignatureError, match=problem):
        verify_webhook(body(), {**standard(body()), **change}, STANDARD_SECRET)


def test_refuses_standard_webhooks_late_and_with_an_old_secret() -> None:
    with pytest.raises(SignatureError, match="more than 300 seconds"):
        verify_webhook(body(), standard(body(), at=int(time.time()) - 310), STANDARD_SECRET)
    for secret in ("whsec_", "whsec_" + "A" * 43, "whsec_" + "-" * 43 + "="):
        with pytest.raises(SignatureError, match="older than Standard Webhooks"):
            verify_webhook(body(), standard(body()), secret)


def test_refuses_wrong_arguments() -> None:
    headers = {"X-Signature": signed(body())}
    with pytest.raises(TypeError, match="raw bytes"):
        verify_webhook(body().decode(), headers, SECRET)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="secret"):
        verify_webhook(body(), headers, "")


@pytest.mark.parametrize("raw", [b"", b"null", b"{}", b"\xff"])
def test_a_signed_body_that_is_no_event_is_refused(raw: bytes) -> None:
    with pytest.raises(SignatureError, match="not an event"):
        verify_webhook(raw, {"X-Signature": signed(raw)}, SECRET)
