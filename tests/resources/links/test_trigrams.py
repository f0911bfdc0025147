"""SQLite's index of trigrams: what it finds is what reading all texts finds, whatever became of the links."""

import contextlib
import math
import sqlite3
from random import Random

import pytest
from resources.links.env import Env
from sqlalchemy import delete, insert, select, text, update

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.kit.pagination import PageRequest
from waypost.resources.links.lists import listing, trigrams
from waypost.resources.links.lists.query import LinkFilter
from waypost.resources.links.model import links

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

SIGNS = "aaabbbAB\"*?[]%_ -'\\éßİıſ東京\ufffe\U0001f388"


@pytest.fixture(autouse=True)
def used_for_few_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigrams, "_MAX_SCANNED_LINKS", -1)
    monkeypatch.setattr(trigrams, "_MIN_SHARE", math.inf)


async def candidates(db: Database, env: Env, search: str) -> list[int] | None:
    async with db.read() as tx:
        account = env.alice.account_id
        return await trigrams.find_candidates(
            tx, account, await trigrams.select_rare_trigrams(tx, account, search.casefold())
        )


async def titles(db: Database, env: Env, search: str) -> list[str]:
    """Of the list of what was searched for, which the index leads."""
    assert await candidates(db, env, search) is not None
    async with db.read() as tx:
        account, request = env.alice.account_id, PageRequest(1, 300)
        page = await listing.list_with_total(tx, account, LinkFilter(search=search), request, env.clock())
    assert page.total == len(page.items)
    return sorted(link.title for link in page.items)


async def test_finds_only_the_accounts_links(env: Env, db: Database) -> None:
    link = await env.make(title="Summer sale")
    await env.make(env.bob, title="Summer fair")
    assert await titles(db, env, "MMER") == ["Summer sale"]
    assert await titles(db, env, link["slug"]) == ["Summer sale"]
    assert await titles(db, env, "winter") == []
    assert len(await candidates(db, env, "summer") or []) == 2


async def test_the_index_follows_changes_and_deletions(env: Env, db: Database) -> None:
    link = await env.make(title="Summer sale")
    await env.changed(link, title="Autumn sale")
    assert await candidates(db, env, "summer") == []
    assert await titles(db, env, "autumn") == ["Autumn sale"]
    await env.changed(link, tags=["shop"])
    assert await titles(db, env, "autumn") == ["Autumn sale"]
    await env.delete(link)
    assert await candidates(db, env, "autumn") == []
    async with db.write() as tx:
        await tx.execute(delete(links))  # as a closed account's are
        assert await tx.scalar(text("SELECT count(*) FROM link_numbers")) == 0


async def test_is_not_used_where_it_would_not_be_faster(
    env: Env, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        await env.make(title=f"Number {number}")
    assert await candidates(db, env, "nu") is None  # a trigram has three signs
    assert len(await candidates(db, env, "number") or []) == 3
    monkeypatch.setattr(trigrams, "_MAX_MATCHES", 2)
    assert await candidates(db, env, "number") is None
    assert await candidates(db, env, "number 1") is not None
    monkeypatch.setattr(trigrams, "_MAX_SCANNED_LINKS", 3)
    assert await candidates(db, env, "number 1") is None


async def test_is_not_used_by_accounts_with_a_small_share_of_links(
    env: Env, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigrams, "_MIN_SHARE", 2)
    await env.make(title="Summer sale")
    await env.make(env.bob)
    assert len(await candidates(db, env, "summer") or []) == 1
    await env.make(env.bob)
    assert await candidates(db, env, "summer") is None


async def test_finds_long_texts(env: Env, db: Database) -> None:
    title = "".join(chr(0x4E00 + number) for number in range(255))
    await env.make(title=title)
    assert await titles(db, env, title) == [title]
    assert await titles(db, env, title[:-1] + "x") == []


async def test_finds_what_reading_all_texts_finds(env: Env, db: Database) -> None:
    link, random = await env.make(), Random(5)
    async with db.read() as tx:
        row = dict(zip(links.c.keys(), (await tx.execute(select(links))).one(), strict=True))

    def some(most: int) -> str:
        return "".join(random.choices(SIGNS, k=random.randint(1, most)))

    def new(number: int) -> dict[str, object]:
        title = some(30)
        return {"title": title, "search_text": f"{title}\n{number}\n".casefold()}

    texts = {number: new(number) for number in range(300)}
    ids = {number: new_id() for number in texts}
    async with db.write() as tx:
        rows = [row | each | {"id": ids[number], "slug": f"random-{number}"} for number, each in texts.items()]
        await tx.execute(insert(links), rows)
        for number in random.sample(range(300), 60):
            texts[number] = new(number)
            await tx.execute(update(links).where(links.c.id == ids[number]).values(texts[number]))
        for number in random.sample(range(300), 30):
            del texts[number]
            await tx.execute(delete(links).where(links.c.id == ids[number]))
    await env.delete(link)
    for _ in range(200):
        search = some(6) + some(1) + some(1)
        holding = (each for each in texts.values() if search.casefold() in str(each["search_text"]))
        assert await titles(db, env, search) == sorted(str(each["title"]) for each in holding)


async def test_survives_a_vacuum(env: Env, db: Database, database_url: str) -> None:
    gone = await env.make(title="Summer fair")
    await env.make(title="Summer sale")
    async with db.write() as tx:  # from now on numbers have a gap
        await tx.execute(delete(links).where(links.c.slug == gone["slug"]))
    with contextlib.closing(sqlite3.connect(database_url.removeprefix("sqlite:///"))) as connection:
        connection.execute("VACUUM")
    assert await titles(db, env, "summer") == ["Summer sale"]
