"""What the page at a link's address with a plus shows."""

from datetime import timedelta
from html import escape, unescape
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from browser.hostile import TEXTS
from domains import domain
from resources.links.env import SHARED, Env
from sqlalchemy import update

from waypost.database import Database
from waypost.kit.clock import now
from waypost.kit.errors import Unavailable
from waypost.redirect.pages import PLAIN
from waypost.resources.links import routing
from waypost.resources.links.model import links
from waypost.resources.links.routing import LinkRouting
from waypost.resources.links.visitor_pages.info_pages import find_info_page


async def page_of(env: Env, link: dict) -> str:
    page = await find_info_page(env.deps.db, SHARED, env.clock, UUID(link["id"]).hex.encode(), PLAIN)
    assert page is not None
    return page.decode()


async def test_shows_title_destination_and_day(env: Env) -> None:
    destination = env.site.url("/?a=1&b=2")
    page = await page_of(env, await env.make(slug="Here", title="Spring sale", destination_url=destination))
    assert '<h1 lang="" dir="auto">Spring sale</h1>' in page
    assert f"<dd>{SHARED}/Here</dd>" in page
    assert f'<a href="{escape(destination)}"' in page
    day = env.clock()
    assert f'<time datetime="{day:%Y-%m-%d}">{day.day} {day:%B %Y}</time>' in page
    assert '<meta name="robots" content="noindex">' in page


async def test_names_the_links_domain(env: Env) -> None:
    await domain(env.deps.db, env.alice.account_id, "brand.test")
    assert "<dd>brand.test/a</dd>" in await page_of(env, await env.make(slug="a", hostname="brand.test"))


async def test_titles_are_text(env: Env) -> None:
    link = await env.make()
    for text in TEXTS.values():
        async with env.deps.db.write() as tx:
            await tx.execute(update(links).where(links.c.id == UUID(link["id"])).values(title=text))
        shown = (await page_of(env, link)).partition('<h1 lang="" dir="auto">')[2].partition("</h1>")[0]
        assert unescape(shown) == text
        assert "<" not in shown


async def test_hides_the_destination_of_a_protected_link(env: Env) -> None:
    link = await env.make(title="Prices")
    id_, at = UUID(link["id"]), env.clock()
    async with env.deps.db.write() as tx:
        await routing.save(tx, LinkRouting(id_, env.alice.account_id, at, at, password_hash="x", password_version=1))
    page = await page_of(env, link)
    assert "Prices" in page
    assert "<dd>Protected by a password</dd>" in page
    assert link["destination_url"] not in page


async def test_hides_the_destination_before_the_start(env: Env) -> None:
    link = await env.make()
    async with env.deps.db.write() as tx:
        await tx.execute(links.update().values(starts_at=env.clock() + timedelta(microseconds=1)))
    assert "<dd>The link has not started yet</dd>" in await page_of(env, link)
    env.clock.move(timedelta(microseconds=1))
    assert escape(link["destination_url"]) in await page_of(env, link)


async def test_disabled_and_deleted_links_have_no_page(env: Env) -> None:
    deleted, disabled = await env.make(), await env.make()
    await env.delete(deleted)
    await env.changed(disabled, status="inactive")
    for link_id in (UUID(deleted["id"]), UUID(disabled["id"]), uuid4()):
        assert await find_info_page(env.deps.db, SHARED, env.clock, link_id.hex.encode(), PLAIN) is None


async def test_raises_unavailable_without_a_database(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/none/waypost.db")
    with pytest.raises(Unavailable):
        await find_info_page(db, SHARED, now, uuid4().hex.encode(), PLAIN)
    await db.close()
