"""A customer subscribes a receiver of their own, and hears of what happens: all through HTTPS, HTTP and settings."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from journeys.service import Service, Website, eventually
from resources.webhooks.receiver import Receiver

WAITS = (0.2, 0.4, 0.6, 0.8)
PERSON = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
BOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """Each test has a path of its own."""
    with Receiver(tmp_path_factory.mktemp("receiver")) as running:
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[Service]:
    settings = {
        "WAYPOST_OUTBOUND_CA_FILE": str(receiver.ca_file),
        "WAYPOST_WEBHOOK_BACKOFF": ",".join(map(str, WAITS)),
    }
    with Service(tmp_path_factory.mktemp("service"), **settings) as service:
        yield service


@pytest.fixture
def service(running: Service, request: pytest.FixtureRequest) -> Service:
    """As somebody sees it who has nothing yet."""
    key = running.new_key(running.new_account(f"{request.node.name}@example.com"))
    running.client.headers["Authorization"] = f"Bearer {key}"
    return running


def subscribe(service: Service, receiver: Receiver, path: str, *events: str) -> dict[str, Any]:
    expected = {"url": receiver.url(path), "event_types": list(events)}
    answer = service.client.post("/api/v1/webhooks", json=expected)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


def make(service: Service, slug: str, **fields: Any) -> dict[str, Any]:
    with Website() as page:
        answer = service.client.post("/api/v1/links", json={"slug": slug, "destination_url": page.url} | fields)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


def read(service: Service, path: str) -> Any:
    answer = service.client.get(f"/api/v1{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def deliveries(service: Service, webhook: dict[str, Any]) -> list[dict[str, Any]]:
    return read(service, f"/webhooks/{webhook['id']}/deliveries")


def test_receiver_gets_signed_events(service: Service, receiver: Receiver) -> None:
    webhook = subscribe(service, receiver, "/hook", "link.created", "link.clicked")
    link = make(service, "grüße".encode().hex(), title="Grüße 😀", tags=["a"])
    (created,) = receiver.wait_for("/hook", 1)
    assert created.is_signed_with(webhook["secret"])
    assert not created.is_signed_with("whsec_another")
    assert list(created.envelope) == ["id", "api_version", "event", "created_at", "data"]
    assert (created.envelope["event"], created.envelope["api_version"]) == ("link.created", "v1")
    assert created.headers["X-Delivery-Id"] == created.envelope["id"]
    assert (created.headers["X-Event-Type"], created.headers["Content-Type"]) == ("link.created", "application/json")
    assert json.dumps(created.envelope["data"]) == json.dumps(read(service, f"/links/{link['id']}"))

    service.client.get(f"/{link['slug']}", headers={"User-Agent": BOT})
    visited = service.client.get(
        f"/{link['slug']}", headers={"User-Agent": PERSON, "Referer": "https://from.example/x"}
    )
    assert visited.status_code == 302
    _, clicked = receiver.wait_for("/hook", 2)
    assert clicked.is_signed_with(webhook["secret"])
    click = clicked.envelope["data"]
    assert (clicked.envelope["event"], click["link_id"], click["browser"]) == ("link.clicked", link["id"], "Firefox")
    (shown,) = read(service, "/clicks")
    assert click == {field: shown[field] for field in click}
    eventually(lambda: all(each["status"] == "delivered" for each in deliveries(service, webhook)), every=1)
    assert len(receiver.received("/hook")) == 2  # the bot caused no event


def test_a_receiver_that_fails_is_tried_again_at_the_waits_set(service: Service, receiver: Receiver) -> None:
    receiver.will("/failing", 500)
    failing = subscribe(service, receiver, "/failing", "link.created")
    subscribe(service, receiver, "/healthy", "link.created")
    make(service, "one")
    attempts = receiver.wait_for("/failing", 5)
    eventually(lambda: deliveries(service, failing)[0]["status"] == "failed", every=1)
    (reported,) = deliveries(service, failing)
    assert (reported["attempts"], reported["response_status"], reported["next_attempt_at"]) == (5, 500, None)
    assert reported["error"] == "answered 500"
    assert len(receiver.received("/failing")) == 5
    gaps = [later.at - earlier.at for earlier, later in itertools.pairwise(attempts)]
    assert all(gap >= wait for gap, wait in zip(gaps, WAITS, strict=True))
    assert len({each.body for each in attempts}) == 1
    assert all(each.is_signed_with(failing["secret"]) for each in attempts)
    assert len(receiver.received("/healthy")) == 1


def test_a_deleted_subscription_hears_no_more(service: Service, receiver: Receiver) -> None:
    receiver.will("/gone", 500)
    gone = subscribe(service, receiver, "/gone", "link.created")
    stays = subscribe(service, receiver, "/stays", "link.created")
    make(service, "three")
    receiver.wait_for("/gone", 1)
    assert service.client.delete(f"/api/v1/webhooks/{gone['id']}").status_code == 204
    before = len(receiver.received("/gone"))
    make(service, "four")
    receiver.wait_for("/stays", 2)
    eventually(lambda: all(each["status"] == "delivered" for each in deliveries(service, stays)), every=1)
    assert len(receiver.received("/gone")) <= before + 1  # the attempt under way, at most
    assert b'"slug":"four"' not in receiver.received("/gone")[-1].body
    assert service.client.get(f"/api/v1/webhooks/{gone['id']}/deliveries").status_code == 404


def test_events_from_while_the_worker_was_dead_are_delivered(service: Service, receiver: Receiver) -> None:
    subscribe(service, receiver, "/while-dead", "link.created")
    service.kill("worker")
    links = [make(service, f"link-{number}") for number in range(3)]
    reported = receiver.wait_for("/while-dead", 3)
    assert {each.envelope["data"]["id"] for each in reported} == {link["id"] for link in links}
    assert len({each.headers["X-Delivery-Id"] for each in reported}) == 3
