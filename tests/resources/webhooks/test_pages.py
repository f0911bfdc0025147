"""HTML pages of webhooks."""

import re
from html import unescape
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from architecture.code import ROOT
from browsing import Browser, WebApp, open_place
from sqlalchemy import select, update

from waypost.kit.ids import new_id
from waypost.resources.webhooks import WebhookEvent, pages, record, service
from waypost.resources.webhooks.model import webhook_deliveries, webhooks

NEW = {"url": "https://127.0.0.1:9443/hook?a=1&b=2", "event_types[]": ["link.created", "pixel.fired"]}
_D = webhook_deliveries.c


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    """Its way out is open to addresses that are looked at only."""
    async with open_place(database_url, tmp_path, outbound_allow="127.0.0.0/8") as place:
        yield place


async def add(browser: Browser, **fields: Any) -> str:
    """Its path."""
    answer = await browser.post("/webhooks/new", NEW | fields)
    assert answer.status_code == 201, answer.text
    return re.search(r'href="(/webhooks/[0-9a-f-]{36})"', answer.text)[1]


async def happen(place: WebApp, browser: Browser, count: int = 1, event: str = "link.created") -> None:
    assert browser.account
    async with place.db.write() as tx:
        for number in range(count):
            data = {"title": "<b>ü</b>", "number": number}
            await record(tx, WebhookEvent(event, browser.account.id, new_id(), place.clock(), data))


async def settle(place: WebApp, **values: Any) -> None:
    async with place.db.write() as tx:
        await tx.execute(update(webhook_deliveries).values(**values))


async def rows(place: WebApp, table: Any = webhook_deliveries) -> list[Any]:
    async with place.db.read() as tx:
        return list(await tx.execute(select(table)))


def deliveries(html: str) -> list[str]:
    return re.findall(r'<td><a href="(/webhooks/[^"]+/deliveries/[^"]+)"', html)


async def test_creates_tests_and_shows_a_webhook(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert "No webhooks yet" in (await ada.get("/webhooks")).text
    created = await ada.post("/webhooks/new", NEW)
    secret = re.search(r'data-copy="(whsec_[\w+/=]+)"', created.text)[1]
    assert (created.status_code, created.text.count(secret)) == (201, 2)
    (webhook,) = await rows(place, webhooks)
    assert (webhook.url, webhook.event_types) == (NEW["url"], NEW["event_types[]"])
    path = f"/webhooks/{webhook.id}"
    page = await ada.get(path)
    assert ("No deliveries yet" in page.text, secret in page.text, NEW["url"] in unescape(page.text)) == (
        True,
        False,
        True,
    )

    sent = await ada.post(f"{path}/test")
    (test,) = await rows(place)
    assert (sent.headers["location"], test.event) == (f"{path}/deliveries/{test.id}", "webhook.test")
    shown = (await ada.get(sent.headers["location"])).text
    assert ("Pending" in shown, 'hx-trigger="every 1s"' in shown, str(webhook.id) in shown) == (True, True, True)
    said = "<script>alert(1)</script>"
    failed = {"status": "failed", "attempts": 5, "response_status": 500, "next_attempt_at": None}
    await settle(place, **failed, error=f"answered 500: {said}", response_body=said)
    part = await ada.get(sent.headers["location"], headers={"HX-Request": "true"})
    assert ("Failed" in part.text, "5 of 5" in part.text, "hx-trigger" in part.text) == (True, True, False)
    assert (unescape(part.text).count(said), "<script>" in part.text, "<html" in part.text) == (1, False, False)
    assert "Redirects are not followed" not in part.text
    await settle(place, response_status=302)
    assert "Redirects are not followed" in (await ada.get(sent.headers["location"])).text
    await settle(place, status="delivered", attempts=1, response_status=200, error=None)
    assert f">{said}</pre>" in unescape((await ada.get(sent.headers["location"])).text)
    await settle(place, response_body=None)
    assert "Its response had no body" in (await ada.get(sent.headers["location"])).text
    await settle(place, response_body=said)
    again = await ada.post(f"{sent.headers['location']}/redeliver")
    assert again.headers["location"] == sent.headers["location"]
    (redelivered,) = await rows(place)
    assert (redelivered.status, redelivered.attempts, redelivered.body, redelivered.response_body) == (
        "pending",
        0,
        test.body,
        None,
    )
    assert "Pending" in (await ada.get("/webhooks")).text


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"error": "dns: there is no such host"}, "There is no such host"),
        ({"error": "dns: timed out"}, "The DNS lookup timed out"),
        ({"error": "timed out"}, "Timed out"),
        ({"error": "connection refused"}, "Connection refused"),
        ({"error": "tls: certificate has expired"}, "HTTPS failed: certificate has expired"),
        ({"error": "the host has an address that is not public"}, "The host has an address that is not public"),
        ({"error": "answered 503", "response_status": 503}, "503 Service Unavailable"),
        ({"error": "answered 599", "response_status": 599}, "599"),
        ({"error": "redirects are not followed (301)", "response_status": 301}, "301 Moved Permanently"),
    ],
)
async def test_says_in_words_what_came_of_an_attempt(place: WebApp, result: dict[str, Any], words: str) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    sent = (await ada.post(f"{path}/test")).headers["location"]
    await settle(place, status="failed", attempts=5, next_attempt_at=None, **result)
    for page in (await ada.get(path), await ada.get(sent)):
        assert re.search(rf">(The latest attempt got no response\. )?{re.escape(words)}\.?<", page.text)
    assert ("Redirects are not followed." in page.text) == (words[0] == "3")


async def test_the_log_is_narrowed_and_leafed_through(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    await happen(place, ada, 30)
    await settle(place, status="delivered", response_status=204, attempts=1, next_attempt_at=None)
    await happen(place, ada, 2, "pixel.fired")
    newest = await ada.get(path)
    older = unescape(re.search(r'href="([^"]+)" rel="next"', newest.text)[1])
    last = await ada.get(older)
    found = [*deliveries(newest.text), *deliveries(last.text)]
    assert (len(found), len(set(found)), 'rel="next"' in last.text, "Newest" in last.text) == (32, 32, False, True)
    assert found == sorted(found, reverse=True)
    for query, count in (("status=pending", 2), ("event=pixel.fired", 2), ("status=delivered&event=pixel.fired", 0)):
        assert len(deliveries((await ada.get(f"{path}?{query}")).text)) == count
    assert len(deliveries((await ada.get(f"{path}?status=strange&event=%00&before=1")).text)) == 25
    kept = unescape(re.search(r'href="([^"]+)" rel="next"', (await ada.get(f"{path}?status=delivered")).text)[1])
    assert len(deliveries((await ada.get(kept)).text)) == 5
    monkeypatch.setattr(service, "MAX_SCANNED", 20)
    none = await ada.get(f"{path}?event=pixel.fired&before={found[1].rpartition('/')[2]}")
    assert ("Older deliveries may match" in none.text, deliveries(none.text)) == (True, [])
    one = await ada.get(found[0])
    assert ('"title": "<b>ü</b>"' in unescape(one.text), "<b>" in one.text) == (True, False)


async def test_faults_are_beside_their_fields_and_what_was_typed_is_kept(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com", plan="none")
    refused = await ada.post(
        "/webhooks/new", {"url": "http://10.0.0.1/x", "event_types[]": ["link.clicked", "strange"]}
    )
    assert (refused.status_code, refused.text.count('class="error"')) == (422, 2)
    assert 'value="http://10.0.0.1/x"' in refused.text
    assert re.findall(r'value="([^"]+)" checked', refused.text) == ["link.clicked"]
    nothing = await ada.post("/webhooks/new", {"url": ""})
    assert (nothing.status_code, nothing.text.count("This field is required.")) == (422, 2)
    unpaid = await bob.post("/webhooks/new", NEW)
    assert (unpaid.status_code, "no active plan" in unpaid.text) == (402, True)
    assert NEW["url"] in unescape(unpaid.text)
    assert await rows(place, webhooks) == []


async def test_a_webhook_is_copied_as_a_new_one(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    path = await add(ada, **{"event_types[]": ["link.created"]})
    assert f'href="/webhooks/new?from={path.rpartition("/")[2]}"' in (await ada.get(path)).text
    copied = f"/webhooks/new?from={path.rpartition('/')[2]}"
    shown = (await ada.get(copied)).text
    assert f'value="{NEW["url"]}"' in unescape(shown)
    assert re.findall(r'value="([^"]+)" checked', shown) == ["link.created"]
    assert (await bob.get(copied)).status_code == 404


async def test_it_is_deleted_after_its_consequences_are_told(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    for page in (await ada.get(path), await ada.get(f"{path}/delete")):
        assert "Its delivery log and its signing secret are deleted" in page.text
        assert f'action="{path}/delete"' in page.text
    gone = await ada.post(f"{path}/delete")
    assert (gone.status_code, await rows(place, webhooks)) == (303, [])
    assert (await ada.get(path)).status_code == 404
    assert "Webhook deleted." in (await ada.get(gone.headers["location"])).text


async def test_it_is_its_owner_s_alone_and_changed_only_from_pages_of_ours(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    path, own = await add(ada), await add(bob)
    await happen(place, ada)
    (delivery,) = await rows(place, select(webhook_deliveries).where(_D.webhook_id == UUID(path[10:])).subquery())
    one = f"deliveries/{delivery.id}"
    for each in (f"{path}/{one}", f"{own}/{one}", f"{path}/deliveries/1"):
        assert [(await bob.get(each)).status_code, (await bob.post(f"{each}/redeliver")).status_code] == [404] * 2
    for each in (path, f"/webhooks/{uuid4()}", "/webhooks/1"):
        answers = [await bob.get(each), await bob.get(f"{each}/delete")]
        answers += [await bob.post(f"{each}/test"), await bob.post(f"{each}/delete")]
        assert [answer.status_code for answer in answers] == [404] * 4
    assert path not in (await bob.get("/webhooks")).text
    for each in ("/webhooks/new", f"{path}/test", f"{path}/delete", f"{path}/{one}/redeliver"):
        answer = await ada.client.post(each, data=NEW, headers={"Sec-Fetch-Site": "cross-site"})
        assert answer.status_code == 403
    assert len(await rows(place, webhooks)) == 2


def test_it_shows_the_code_that_the_documentation_shows() -> None:
    """Which is tried, as it stands there, in test_webhook_docs."""
    documented = (ROOT / "docs" / "guides" / "webhooks.md").read_text()
    for language, block in (("Python", "python"), ("Node.js", "js"), ("PHP", "php")):
        assert f"### {language}\n\n```{block}\n{pages.snippets()[language]}```\n" in documented
