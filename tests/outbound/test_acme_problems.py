"""What authorities say no with becomes a sentence, whatever they send; and a wait that is believed within reason."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from waypost.kit.urls import canonical
from waypost.outbound import OutboundResponse
from waypost.outbound.acme import SigningKey
from waypost.outbound.acme_problems import (
    LONGEST_WAIT,
    AuthorityRateLimited,
    AuthorityRefused,
    AuthorityUnavailable,
    problem_in,
    problem_of,
    retry_after,
)

URN = "urn:ietf:params:acme:error:"


def answer(status: int, body: object = None, **headers: str) -> OutboundResponse:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return OutboundResponse(status, headers, content, canonical("https://acme.test/"))


@pytest.mark.parametrize(
    ("status", "body", "kind", "text"),
    [
        (403, {"type": URN + "caa", "detail": "CAA record"}, AuthorityRefused, "a CAA record of this domain"),
        (400, {"type": URN + "newly invented", "detail": "x" * 900}, AuthorityRefused, 'It said: "xxx'),
        (429, b"slow down", AuthorityRateLimited, "too many certificates were requested recently"),
        (400, {"type": URN + "rateLimited"}, AuthorityRateLimited, "too many certificates"),
        (500, {"type": URN + "serverInternal"}, AuthorityUnavailable, "status 500"),
        (404, b"<html>", AuthorityUnavailable, "status 404"),
        (400, ["no", "object"], AuthorityUnavailable, "status 400"),
        (400, {"type": 7, "detail": {"a": 1}}, AuthorityUnavailable, "status 400"),
        (302, b"", AuthorityUnavailable, "status 302"),
    ],
    ids=["caa", "unknown", "text", "limit", "broken", "html", "list", "types", "redirect"],
)
def test_reads_the_problem_document(status: int, body: object, kind: type, text: str) -> None:
    problem = problem_of(answer(status, body))
    assert type(problem) is kind
    assert text in problem.reason
    assert len(problem.reason) < 600


def test_what_it_says_is_one_line() -> None:
    problem = problem_in({"type": URN + "dns", "detail": "no\r\n\x1b[31mrecord\x00"})
    assert problem.reason.endswith('It said: "no [31mrecord"')
    assert problem_in(None).reason == "The certificate authority refused."


def test_waits() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(minutes=10), usegmt=True)
    assert 590 < (retry_after(answer(503, **{"Retry-After": later})) or 0) <= 600
    for text, seconds in (("120", 120), ("9" * 400, LONGEST_WAIT), ("-5", None), ("soon", None), ("", None)):
        assert retry_after(answer(503, **{"Retry-After": text})) == seconds
    assert retry_after(answer(503, **{"Retry-After": "Sat, 01 Jan 2000 00:00:00 GMT"})) == 0


def test_a_key_is_the_same_when_it_is_read_again() -> None:
    key = SigningKey.new()
    again = SigningKey.from_pem(key.pem())
    assert (again.public(), again.thumbprint()) == (key.public(), key.thumbprint())
    assert len(key.thumbprint()) == 43
