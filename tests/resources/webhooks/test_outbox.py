"""R7: an event and its deliveries are committed together, with the bytes to send."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from resources.links.env import open_env
from resources.webhooks.scripted import deliveries, delivery, subscribe, unsubscribe

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.webhooks import WebhookEvent, record
from waypost.resources.webhooks.outbox import build_payload, record_for

AT = datetime(2026, 11, 20, 2, 56, 16, 123456, tzinfo=UTC)


def created(account: UUID, data: dict[str, Any] | None = None) -> WebhookEvent:
    return WebhookEvent("link.created", account, new_id(), AT, {"title": "A"} if data is None else data)


async def tell(db: Database, event: WebhookEvent) -> None:
    async with db.write() as tx:
        await record(tx, event)


async def test_records_a_delivery_with_its_event(db: Database) -> None:
    alice = await subscribe(db)
    await tell(db, created(alice.account_id))
    row = await delivery(db)
    assert (row.account_id, row.webhook_id, row.event) == (alice.account_id, alice.id, "link.created")
    assert (row.status, row.attempts, row.leased_until, row.error) == ("pending", 0, None, None)
    assert row.created_at == row.next_attempt_at == AT
    assert row.body == (
        f'{{"id":"{row.id}","api_version":"v1","event":"link.created",'
        '"created_at":"2026-11-20T02:56:16+00:00","data":{"title":"A"}}'
    )


async def test_what_is_rolled_back_tells_nobody(db: Database) -> None:
    alice = await subscribe(db)
    with pytest.raises(KeyError):
        async with db.write() as tx:
            await record(tx, created(alice.account_id))
            raise KeyError
    assert await deliveries(db) == []


async def test_the_same_event_twice_is_one_delivery(db: Database) -> None:
    alice = await subscribe(db)
    event = created(alice.account_id)
    await tell(db, event)
    before = await delivery(db)
    await tell(db, replace(event, data={"title": "told otherwise"}))
    assert await delivery(db) == before


async def test_another_event_or_subscription_is_another_delivery(db: Database) -> None:
    alice = await subscribe(db)
    also = await subscribe(db, account_id=alice.account_id)
    event = created(alice.account_id)
    await tell(db, event)
    await tell(db, replace(event, type="link.clicked"))
    await tell(db, created(alice.account_id))
    rows = await deliveries(db)
    assert sorted(row.webhook_id for row in rows) == sorted([alice.id, also.id] * 3)
    assert {row.id.version for row in rows} == {7}
    assert all(json.loads(row.body)["id"] == str(row.id) for row in rows)


async def test_only_what_is_listened_for_and_only_one_s_own(db: Database) -> None:
    alice = await subscribe(db, events=["link.clicked"])
    bob = await subscribe(db, events=["link.created", "pixel.fired"])
    await tell(db, created(alice.account_id))
    assert await deliveries(db) == []
    await tell(db, created(bob.account_id))
    assert (await delivery(db)).webhook_id == bob.id


async def test_a_delivery_by_hand_goes_to_one_whatever_it_listens_to(db: Database) -> None:
    alice = await subscribe(db, events=["pixel.fired"])
    await subscribe(db, account_id=alice.account_id)
    async with db.write() as tx:
        reported = await record_for(tx, WebhookEvent("webhook.test", alice.account_id, new_id(), AT, {}), alice.id)
    row = await delivery(db)
    assert (row.id, row.webhook_id, row.event) == (reported, alice.id, "webhook.test")


@pytest.mark.parametrize(
    "text",
    ["Grüße, 世界 😀", "\ud800", "\\\udfff\\", 'a "quoted" \\ line\n\t\x00\x7f\u2028', "{},{}\\N"],
    ids=ascii,
)
async def test_any_text_is_told_as_it_is(db: Database, text: str) -> None:
    alice = await subscribe(db)
    event = created(alice.account_id, {"title": text, text: None})
    await tell(db, event)
    row = await delivery(db)
    assert row.body == build_payload(row.id, event)
    assert json.loads(row.body.encode())["data"] == {"title": text, text: None}
    assert all(letter in row.body for letter in text if letter.isalpha())  # as itself, not as an escape


async def test_a_link_is_told_as_it_is_read(db: Database, tmp_path: Path) -> None:
    async with open_env(db, tmp_path) as env:
        listening = await subscribe(db, account_id=env.alice.account_id)
        await subscribe(db, account_id=env.bob.account_id)
        link = await env.make(
            title="Größe 😀",
            tags=["b", "a"],
            utm_params={"utm_term": "x", "utm_source": "y"},
            expires_at="2031-01-01T00:00:00Z",
        )
        assert (await env.post({"slug": link["slug"]})).status_code == 422
        row = await delivery(db)
        reported, read = json.loads(row.body), (await env.find(link)).json()["data"]
        assert row.webhook_id == listening.id
        assert list(reported) == ["id", "api_version", "event", "created_at", "data"]
        assert json.dumps(reported["data"]) == json.dumps(read)  # keys in the same order, too
        assert reported["created_at"] == "2030-01-01T12:00:00+00:00"
        assert row.created_at == env.clock.at


async def test_a_subscription_that_is_deleted_meanwhile_is_told_nothing(db: Database) -> None:
    """R11: the deletion waits for who is just telling it something, and cancels that."""
    alice = await subscribe(db)
    async with db.write() as tx:
        await record(tx, created(alice.account_id))
        deleting = asyncio.create_task(unsubscribe(db, alice))
        await asyncio.wait([deleting], timeout=0.1)  # time enough to overtake, if it could
        assert not deleting.done()
    await deleting
    assert (await delivery(db)).status == "cancelled"
