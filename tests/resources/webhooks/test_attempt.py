"""R8, R10: what one attempt sends, and the outcome for every answer."""

from base64 import b64encode
from dataclasses import replace
from datetime import timedelta

import pytest
from people import START, FakeClock
from resources.webhooks.scripted import BACKOFF, KEYS, Receivers, new_deliverer
from servers import ALLOW, Receiver, endless_interim
from structlog.testing import capture_logs

from waypost.database import KeyRing
from waypost.kit.ids import new_id
from waypost.kit.signing import find_problem
from waypost.outbound import NotPublic, Outbound, Poster, Unreachable
from waypost.resources.webhooks.deliverer import Deliverer
from waypost.resources.webhooks.delivery_limiter import WebhookReceiver
from waypost.resources.webhooks.model import MAX_ATTEMPTS, webhooks
from waypost.resources.webhooks.queue import ClaimedDelivery

SECRET, OLD_SECRET = "whsec_" + b64encode(bytes(range(32))).decode(), "whsec_" + "Aa0-_" * 8 + "xyz"
HOST = "receiver.example"


@pytest.fixture
def receivers() -> Receivers:
    return Receivers()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def claimed(
    attempt: int = 1, url: str = f"https://{HOST}/hook", body: str | None = None, secret: str = SECRET
) -> ClaimedDelivery:
    id_, webhook_id = new_id(), new_id()
    text = body or f'{{"id":"{id_}"}}'
    return ClaimedDelivery(
        id_,
        WebhookReceiver(webhook_id, new_id(), HOST),
        url,
        KEYS.encrypt(webhooks.c.secret, webhook_id, secret),
        "link.created",
        text,
        attempt,
        START,
        START + timedelta(seconds=30),
    )


async def test_sends_a_signed_request(receivers: Receivers, clock: FakeClock) -> None:
    attempt = claimed(body='{"id":"01a1feb2-1c93-773b-b10c-dabf6ca47d71","title":"Grüße"}')
    outcome = await new_deliverer(receivers, clock, timeout=7).run(attempt)
    assert (outcome.status, outcome.response_status, outcome.error, outcome.counts_as_attempt) == (
        "delivered",
        200,
        None,
        True,
    )
    assert outcome.response_body is None
    (sent,) = receivers.sent
    assert sent.body == attempt.body.encode()
    assert (sent.deadline, sent.max_body) == (7, 65_536)
    now = str(int(START.timestamp()))
    signature = sent.headers["X-Signature"]
    assert sent.headers == {
        "Content-Type": "application/json",
        "User-Agent": "Waypost-Webhooks",
        "X-Delivery-Id": str(attempt.id),
        "X-Event-Type": "link.created",
        "X-Signature": signature,
        "X-Webhook-Timestamp": now,
        "webhook-id": str(attempt.id),
        "webhook-signature": sent.headers["webhook-signature"],
        "webhook-timestamp": now,
    }
    assert signature.startswith(f"t={now},v1=")
    assert find_problem(SECRET, signature, sent.body, now=START.timestamp()) is None


async def test_an_old_secret_gets_no_standard_headers(receivers: Receivers, clock: FakeClock) -> None:
    for secret, names in {
        SECRET: {"webhook-id", "webhook-timestamp", "webhook-signature"},
        OLD_SECRET: set(),
        "whsec_" + "A" * 43: set(),
    }.items():
        await new_deliverer(receivers, clock).run(claimed(secret=secret))
        assert {name for name in receivers.sent[-1].headers if name.startswith("webhook-")} == names


async def test_each_attempt_is_signed_when_it_is_made(receivers: Receivers, clock: FakeClock) -> None:
    """The fifth begins 400 seconds after the first, and a receiver refuses what is older than 300."""
    deliverer = new_deliverer(receivers, clock)
    delivery = claimed(body='{"same":1}')
    for number, wait in enumerate((*BACKOFF, 0), start=1):
        await deliverer.run(replace(delivery, attempt=number))
        signature = receivers.sent[-1].headers["X-Signature"]
        assert find_problem(SECRET, signature, b'{"same":1}', now=clock().timestamp()) is None
        clock.move(timedelta(seconds=wait))
    first = receivers.sent[0]
    assert find_problem(SECRET, first.headers["X-Signature"], first.body, now=clock().timestamp()) is not None
    for name, count in {"X-Signature": 5, "webhook-signature": 5, "webhook-timestamp": 5, "webhook-id": 1}.items():
        assert len({each.headers[name] for each in receivers.sent}) == count
    assert {each.body for each in receivers.sent} == {b'{"same":1}'}


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_success(receivers: Receivers, clock: FakeClock, status: int) -> None:
    receivers.will(HOST, status)
    outcome = await new_deliverer(receivers, clock).run(claimed(MAX_ATTEMPTS))
    assert (outcome.status, outcome.response_status, outcome.next_attempt_at) == ("delivered", status, None)


@pytest.mark.parametrize("status", [100, 199, 300, 301, 302, 304, 307, 308, 400, 404, 410, 429, 500, 503, 999])
async def test_any_other_status_is_a_failure(receivers: Receivers, clock: FakeClock, status: int) -> None:
    receivers.will(HOST, status)
    outcome = await new_deliverer(receivers, clock).run(claimed())
    assert (outcome.status, outcome.response_status, outcome.counts_as_attempt) == ("pending", status, True)
    assert str(status) in (outcome.error or "")
    assert ("redirects are not followed" in (outcome.error or "")) == (300 <= status < 400)


@pytest.mark.parametrize(("attempt", "wait"), list(enumerate(BACKOFF, start=1)))
async def test_waits(receivers: Receivers, clock: FakeClock, attempt: int, wait: int) -> None:
    """Counted from the attempt's end."""
    receivers.will(HOST, Unreachable("timed out"))
    outcome = await new_deliverer(receivers, clock).run(claimed(attempt))
    assert (outcome.status, outcome.error) == ("pending", "timed out")
    assert outcome.next_attempt_at == START + timedelta(seconds=wait)


async def test_the_fifth_failure_is_final(receivers: Receivers, clock: FakeClock) -> None:
    receivers.will(HOST, 500)
    outcome = await new_deliverer(receivers, clock).run(claimed(MAX_ATTEMPTS))
    assert (outcome.status, outcome.next_attempt_at, outcome.response_status) == ("failed", None, 500)


async def test_a_private_address_fails_at_once_and_counts_no_attempt(receivers: Receivers, clock: FakeClock) -> None:
    receivers.will(HOST, NotPublic("10.0.0.1 may not be connected to"))
    outcome = await new_deliverer(receivers, clock).run(claimed())
    assert (outcome.status, outcome.counts_as_attempt, outcome.next_attempt_at) == ("failed", False, None)
    assert outcome.error == "the host has an address that is not public"


async def test_what_the_receiver_says_is_kept_short_and_printable(receivers: Receivers, clock: FakeClock) -> None:
    receivers.will(HOST, b"Sorry,\r\n\x00\x1b[31m no \xff \xed\xa0\x80 luck" + b"!" * 5_000)
    outcome = await new_deliverer(receivers, clock).run(claimed())
    assert outcome.error
    assert outcome.response_body
    assert outcome.response_body.startswith("Sorry, [31m no \ufffd")
    assert outcome.response_body.isprintable()
    assert 900 < len(outcome.response_body) <= 1_000
    assert outcome.error == f"answered 500: {outcome.response_body}"


@pytest.mark.parametrize("url", ["https://localhost/", "gopher://x.example/", "https://ex ample/", ""])
async def test_a_url_that_is_no_good_any_more(receivers: Receivers, clock: FakeClock, url: str) -> None:
    outcome = await new_deliverer(receivers, clock).run(claimed(url=url))
    assert (outcome.status, receivers.sent) == ("pending", [])
    assert outcome.error


async def test_a_secret_that_cannot_be_read_costs_no_attempt(receivers: Receivers, clock: FakeClock) -> None:
    deliverer = new_deliverer(receivers, clock, KeyRing(["another key"]))
    with capture_logs() as logs:
        outcomes = [await deliverer.run(claimed(MAX_ATTEMPTS)) for _ in range(2)]
    for outcome in outcomes:
        assert (outcome.status, outcome.counts_as_attempt, receivers.sent) == ("pending", False, [])
        assert outcome.next_attempt_at == START + timedelta(minutes=1)
        assert outcome.error == "not sent: internal error"
    assert ["WAYPOST_SECRET_KEY" in entry["event"] for entry in logs] == [True]


async def test_a_receiver_that_never_sends_a_final_status(clock: FakeClock) -> None:
    """R28: ended at once, by the same bound as every other answer."""
    poster = Poster(Outbound(allow=ALLOW))
    async with Receiver(endless_interim()) as receiver:
        deliverer = Deliverer(poster.post, KEYS, clock=clock, timeout=30, backoff=BACKOFF)
        outcome = await deliverer.run(claimed(url=receiver.url()))
        await receiver.gone.wait()
    await poster.close()
    assert (outcome.status, outcome.error) == ("pending", "too many interim responses (1xx)")
