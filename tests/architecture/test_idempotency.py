"""Each POST with an Idempotency-Key commits its change together with its answer, or nothing at all."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from architecture.facts import ENDPOINTS, FILES, SCOPES
from architecture.running import PIXEL, RECEIVER, RunningApp
from PIL import Image
from sqlalchemy import text

pytestmark = pytest.mark.asyncio(loop_scope="module")

POSTS = {name: endpoint for name, endpoint in ENDPOINTS.items() if endpoint.method == "POST"}
ROW_BY_ROW = {"links_bulk_create"}
"""A repeated request finds the rows of the first one: `tests/resources/links/bulk`."""
_REFUSE_ANSWERS = """
CREATE TRIGGER refuse_answers BEFORE UPDATE OF answer ON idempotency_keys WHEN new.answer IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'no answer is stored'); END
"""


async def content(running: RunningApp) -> Mapping[str, list[Any]]:
    async with running.db.read() as tx:
        tables = await tx.scalars(
            text("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
        )
        names = set(tables.all()) - {"api_keys"}  # where their last use is stored meanwhile
        return {name: (await tx.execute(text(f'SELECT * FROM "{name}"'))).all() for name in names}


@pytest.mark.parametrize("name", sorted(POSTS.keys() - ROW_BY_ROW - FILES))
async def test_a_change_whose_answer_cannot_be_stored_is_not_made(shared_app: RunningApp, name: str) -> None:
    running = shared_app
    key = await running.key(await running.account(), SCOPES)
    link, domain, (webhook, delivery) = await running.link(key), await running.domain(key), await running.webhook(key)
    bodies = {
        "links_create": {"destination_url": running.website.url},
        "links_create_alias": {"hostname": domain["hostname"], "path": "alias"},
        "qrcodes_set_style": {"size": 300},
        "pixels_create": PIXEL,
        "webhooks_create": {"url": RECEIVER, "event_types": ["link.created"]},
        "shares_create": {"name": "A"},
        "templates_create": {"name": "A", "utm_params": {"utm_source": "a"}},
        "tags_create": {"name": "A"},
        "domains_create": {"hostname": running.hostname()},
    }
    ids = {"links": link["id"], "domains": domain["id"], "webhooks": webhook["id"]}
    endpoint = POSTS[name]
    path = "/api" + endpoint.path.replace("{id}", ids.get(endpoint.path.split("/")[2], ""))
    path = path.replace("{delivery_id}", delivery["id"])
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "the-key"}
    async with running.db.write() as tx:
        await tx.execute(text(_REFUSE_ANSWERS))
    before = await content(running)
    assert (await running.client.post(path, headers=headers, json=bodies.get(name))).status_code == 500
    assert await content(running) == before
    async with running.db.write() as tx:
        await tx.execute(text("DROP TRIGGER refuse_answers"))
    answer = await running.client.post(path, headers=headers, json=bodies.get(name))
    assert answer.status_code == endpoint.success, answer.text
    assert await content(running) != before


async def test_an_image_whose_link_is_not_made_is_deleted(shared_app: RunningApp) -> None:
    running = shared_app
    key = await running.key(await running.account(), SCOPES)
    async with running.db.write() as tx:
        await tx.execute(text(_REFUSE_ANSWERS))
    answer = await running.client.post(
        "/api/v1/links",
        headers={"Authorization": f"Bearer {key}", "Idempotency-Key": "with-an-image"},
        data={"destination_url": running.website.url},
        files={"og_image_file": ("a.png", drawn(), "image/png")},
    )
    async with running.db.write() as tx:
        await tx.execute(text("DROP TRIGGER refuse_answers"))
    assert answer.status_code == 500, answer.text
    media = Path(running.db.url.removeprefix("sqlite:///")).parent / "media"
    assert media.is_dir()
    assert not list(media.iterdir())


def drawn() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 20)).save(out, "PNG")
    return out.getvalue()
