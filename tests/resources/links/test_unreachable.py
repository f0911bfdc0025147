"""A destination that cannot be reached: refused with its reason, or accepted where the settings are lenient."""

import socket
from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest
from browsing import WebApp, open_place
from people import Person, new_person
from resources.links.env import HOST, Website, faults
from servers import Receiver, redirect
from structlog.testing import capture_logs

from waypost.resources.links import rules

HEADER = "X-Destination-Check"
REASON = f"{rules.UNREACHABLE} Reason: connection refused."


@pytest.fixture
async def lenient(database_url: str, tmp_path: Path, closed_port: int) -> AsyncIterator[WebApp]:
    blocklist = tmp_path / "blocklist"
    blocklist.write_text(f"http://{HOST}:{closed_port}/unsafe\n")
    allowed = [ip_network(HOST)]
    async with open_place(
        database_url, tmp_path, outbound_allow=allowed, destination_check="lenient", blocklist=blocklist
    ) as opened:
        yield opened


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        return int(bound.getsockname()[1])


@pytest.fixture
def unreachable(closed_port: int) -> str:
    return f"http://{HOST}:{closed_port}/page"


async def send(app: WebApp, who: Person, method: str, path: str, body: Any, **headers: str) -> httpx.Response:
    client = (await app.browser()).client
    return await client.request(method, f"/api/v1/links{path}", json=body, headers=who.headers | headers)


async def test_lenient_settings_accept_it_and_the_answer_says_so(
    lenient: WebApp, site: Website, unreachable: str
) -> None:
    alice = await new_person(lenient.db, "alice")
    body, again = {"destination_url": unreachable}, {"Idempotency-Key": "one"}
    created = await send(lenient, alice, "POST", "", body, **again)
    assert (created.status_code, created.headers[HEADER]) == (201, "unreachable")
    assert created.json()["data"]["title"] == rules.UNTITLED
    replayed = await send(lenient, alice, "POST", "", body, **again)
    assert (replayed.content, replayed.headers["Idempotent-Replayed"]) == (created.content, "true")
    assert replayed.headers[HEADER] == "unreachable"
    path = f"/{created.json()['data']['id']}"
    reached = await send(lenient, alice, "PATCH", path, {"destination_url": site.url()})
    assert (reached.status_code, HEADER in reached.headers) == (200, False)
    changed = await send(lenient, alice, "PATCH", path, body)
    assert (changed.status_code, changed.headers[HEADER]) == (200, "unreachable")
    routed = await send(lenient, alice, "PUT", f"{path}/routing", {"fallback_url": f"{unreachable}/fallback"})
    assert (routed.status_code, routed.headers[HEADER]) == (200, "unreachable")
    assert routed.json()["data"]["fallback_url"] == f"{unreachable}/fallback"
    for urls, says in (([site.url(), unreachable], "unreachable"), ([site.url()], None)):
        rows = {"links": [{"destination_url": url} for url in urls]}
        many = await send(lenient, alice, "POST", "/bulk", rows)
        assert (many.json()["meta"], many.headers.get(HEADER)) == ({"created": len(urls), "invalid": 0}, says)


async def test_lenient_settings_keep_all_other_rules(lenient: WebApp, closed_port: int) -> None:
    alice, unsafe = await new_person(lenient.db, "alice"), f"http://{HOST}:{closed_port}/unsafe"
    for url, message in (
        ("http://127.0.0.1/", rules.NOT_PUBLIC),
        ("http://[::ffff:10.0.0.1]/", rules.NOT_PUBLIC),
        ("http://app.test/other", rules.LOOP),
        (unsafe, rules.UNSAFE),
    ):
        refused = await send(lenient, alice, "POST", "", {"destination_url": url})
        assert faults(refused) == {"destination_url": [message]}
    for url in ("ftp://example.com/", "http://localhost/", "http://2130706433/", "http://"):
        assert faults(await send(lenient, alice, "POST", "", {"destination_url": url})).keys() == {"destination_url"}


async def test_lenient_settings_refuse_redirects_that_lead_to_no_website(lenient: WebApp) -> None:
    alice, browser = await new_person(lenient.db, "alice"), await lenient.browser("bob@example.com")
    for target in ("javascript:alert(1)", "ftp://example.com/"):
        async with Receiver(redirect(target), host=HOST) as receiver:
            body = {"destination_url": receiver.url()}
            refused = await send(lenient, alice, "POST", "", body)
            assert (refused.status_code, faults(refused)) == (422, {"destination_url": [rules.UNREACHABLE]})
            preview = await browser.post("/links/preview", body)
            assert "it redirects to a URL that cannot be used" in preview.text
            assert "You can still save the link" not in preview.text


async def test_the_dashboard_of_a_lenient_service_says_that_it_was_not_reached(
    lenient: WebApp, unreachable: str
) -> None:
    alice = await lenient.browser("alice@example.com")
    preview = await alice.post("/links/preview", {"destination_url": unreachable})
    assert "could not be reached: connection refused. You can still save the link." in preview.text
    created = await alice.post("/links/new", {"destination_url": unreachable, "slug": "later"})
    assert created.status_code == 303
    assert "The destination could not be reached" in (await alice.get(created.headers["location"])).text


async def test_pages_and_the_log_have_the_reason_and_the_api_its_fixed_text(place: WebApp, unreachable: str) -> None:
    alice, browser = await new_person(place.db, "bob"), await place.browser("alice@example.com")
    with capture_logs() as logs:
        refused = await send(place, alice, "POST", "", {"destination_url": unreachable})
    assert faults(refused) == {"destination_url": [rules.UNREACHABLE]}
    [event] = [entry for entry in logs if entry["event"] == "destination unreachable"]
    assert (event["host"], event["reason"]) == (HOST, "connection refused")
    page = await browser.post("/links/new", {"destination_url": unreachable, "slug": "a"})
    assert (page.status_code, REASON in page.text) == (422, True)
    assert REASON in (await browser.post("/links/preview", {"destination_url": unreachable})).text
