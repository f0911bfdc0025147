"""Tags as objects: list, create, rename, merge and delete them, beside what happens to their links."""

import asyncio
from collections import Counter
from datetime import timedelta
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from claimed import claimed
from resources.links.env import Env
from resources.links.test_audit import entries_of
from sqlalchemy import Connection, select, update

from waypost import accounts
from waypost.kit.clock import microseconds, timestamp
from waypost.kit.errors import Problems
from waypost.kit.ids import new_id
from waypost.resources.links import account_data, click_counters
from waypost.resources.links.bulk import change_steps, changes
from waypost.resources.links.bulk import service as bulk
from waypost.resources.links.bulk.change_store import Selection
from waypost.resources.links.lists.query import LinkFilter
from waypost.resources.links.model import CHANGE_JOB, bulk_changes
from waypost.resources.links.tags import store
from waypost.resources.links.tags.clicks import TagClicks
from waypost.resources.links.tags.model import tags


async def ask(env: Env, method: str, path: str = "", **sent: Any) -> Any:
    person = sent.pop("person", env.alice)
    return await env.client.request(method, f"/api/v1/tags{path}", headers=person.headers, json=sent or None)


async def names(env: Env, query: str = "") -> list[str]:
    return [tag["name"] for tag in (await ask(env, "GET", query)).json()["data"]]


async def find(env: Env, name: str) -> Any:
    return next(tag for tag in (await ask(env, "GET", "?per_page=100")).json()["data"] if tag["name"] == name)


async def add_clicks(env: Env, link: dict[str, Any], count: int) -> None:
    row = UUID(link["id"]).bytes, env.alice.account_id.bytes, count
    async with env.deps.db.write() as tx:
        await click_counters.add_clicks(tx, [row], last_at=microseconds(env.clock()))


async def tags_of(env: Env, link: dict[str, Any]) -> list[str]:
    return (await env.find(link)).json()["data"]["tags"]


async def rename(env: Env, name: str, to: str, **sent: Any) -> Any:
    return await ask(env, "PATCH", f"/{(await find(env, name))['id']}", name=to, **sent)


async def run_job(env: Env) -> None:
    """Run the change of tags that is in progress."""
    async with env.deps.db.read() as tx:
        id_ = await tx.scalar(select(bulk_changes.c.id).where(bulk_changes.c.state == "running"))
    await changes.run(env.deps, claimed(CHANGE_JOB, {"id": str(id_)}, env.alice.account_id))


@pytest.fixture
def in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes of links run as jobs, two links at a time."""
    monkeypatch.setattr(change_steps, "STEP", 2)
    monkeypatch.setattr(changes, "MAX_NOW", 0)


async def test_a_tag_of_a_link_exists(env: Env) -> None:
    created = timestamp(env.clock())
    link = await env.make(tags=["Sale", "sale", "äpfel"])
    await env.make(tags=["sale"])
    await env.make(env.bob, tags=["other"])
    await add_clicks(env, link, 3)
    page = (await ask(env, "GET")).json()
    assert [(tag["name"], tag["links_count"], tag["clicks"]) for tag in page["data"]] == [
        ("Sale", 1, 3),
        ("sale", 2, 3),
        ("äpfel", 1, 3),
    ]
    first = page["data"][0]
    assert list(first) == ["id", "name", "color", "links_count", "clicks", "created_at", "updated_at"]
    assert (first["color"], first["created_at"], first["updated_at"]) == ("gray", created, created)
    assert page["meta"]["total"] == 3


async def test_links_are_counted_after_each_change(env: Env) -> None:
    link, other = await env.make(tags=["a", "b"]), await env.make(tags=["a"])
    caller = await env.caller()
    await env.changed(link, tags=["b", "c"])
    both = [UUID(link["id"]), UUID(other["id"])]
    await bulk.change(env.deps, caller, both, {"add_tags": ["d"], "remove_tags": ["a"]}, Problems())
    await env.delete(link)
    async with env.deps.db.read() as tx:
        counters = dict(await tx.execute(select(tags.c.name, tags.c.links_count)))
    assert counters == {"a": 0, "b": 0, "c": 0, "d": 1}
    listed = [(tag["name"], tag["links_count"]) for tag in (await ask(env, "GET")).json()["data"]]
    assert listed == sorted(counters.items())


async def test_lists_are_searched(env: Env) -> None:
    await env.make(tags=["100%", "a_b", "axb", "Äpfel", "100 percent"])
    assert await names(env, "?search=%25") == ["100%"]
    assert await names(env, "?search=A_") == ["a_b"]
    assert await names(env, "?search=äP") == ["Äpfel"]
    assert await names(env, "?per_page=2&page=2") == ["a_b", "axb"]
    assert (await ask(env, "GET", "?search=" + "x" * 256)).json()["error"]["errors"].keys() == {"search"}
    assert (await ask(env, "GET", "?search=%00")).status_code == 422


async def test_creates_a_tag_without_links(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = await ask(env, "POST", name="spring", color="green")
    assert answer.status_code == 201
    created = answer.json()["data"]
    assert (created["name"], created["color"], created["links_count"], created["clicks"]) == ("spring", "green", 0, 0)
    assert (await ask(env, "POST", name="Spring")).json()["data"]["color"] == "gray"
    assert (await ask(env, "POST", name="spring")).json()["error"]["errors"] == {
        "name": ["Another tag has this name. Choose another one, or change that tag."]
    }
    await env.make(tags=["spring"])
    assert (await find(env, "spring")) == created | {"links_count": 1}
    assert (await ask(env, "POST", name=" ")).status_code == 422
    assert (await ask(env, "POST", name="x" * 256)).status_code == 422
    assert (await ask(env, "POST", name="x" * 255)).status_code == 201
    assert (await ask(env, "POST", color="green")).json()["error"]["errors"].keys() == {"name"}
    assert (await ask(env, "POST", name="y", color="mauve")).json()["error"]["errors"].keys() == {"color"}
    monkeypatch.setattr("waypost.resources.links.tags.service.MAX_TAGS", 3)
    assert (await ask(env, "POST", name="one more")).json()["error"]["errors"].keys() == {"name"}
    assert "one more" not in await names(env)


async def test_renames_a_tag_where_it_stands(env: Env) -> None:
    link = await env.make(tags=["first", "a", "last"])
    await env.make(env.bob, tags=["a"])
    tag = await find(env, "a")
    env.clock.move(timedelta(seconds=1))
    changed = (await rename(env, "a", "b", color="blue")).json()["data"]
    expected = {"name": "b", "color": "blue", "updated_at": timestamp(env.clock())}
    assert changed == tag | expected
    assert await tags_of(env, link) == ["first", "b", "last"]
    assert await names(env) == ["b", "first", "last"]
    assert (await rename(env, "b", "B")).json()["data"]["name"] == "B"
    assert await tags_of(env, link) == ["first", "B", "last"]
    assert [tag["name"] for tag in (await ask(env, "GET", person=env.bob)).json()["data"]] == ["a"]
    assert (await ask(env, "PATCH", f"/{tag['id']}", name="x", person=env.bob)).status_code == 404
    for wrong in ({"name": None}, {"color": None}, {"name": ""}):
        assert (await ask(env, "PATCH", f"/{tag['id']}", **wrong)).status_code == 422
    unchanged = await ask(env, "PATCH", f"/{tag['id']}", name="B")
    assert unchanged.json()["data"] == await find(env, "B")


async def test_merges_tags(env: Env) -> None:
    both, one = await env.make(tags=["a", "x", "b"]), await env.make(tags=["a"])
    tag, other = await find(env, "a"), await find(env, "b")
    merged = (await rename(env, "a", "b")).json()["data"]
    assert (merged["id"], merged["name"], merged["links_count"]) == (other["id"], "b", 2)
    assert await tags_of(env, both) == ["b", "x"]
    assert await tags_of(env, one) == ["b"]
    assert await names(env) == ["b", "x"]
    assert (await ask(env, "PATCH", f"/{tag['id']}", name="c")).status_code == 404


async def test_deletes_a_tag(env: Env) -> None:
    link = await env.make(tags=["a", "b"])
    await ask(env, "POST", name="unused")
    for name in ("a", "unused"):
        assert (await ask(env, "DELETE", f"/{(await find(env, name))['id']}")).status_code == 204
    assert await tags_of(env, link) == ["b"]
    assert await names(env) == ["b"]
    assert (await ask(env, "DELETE", f"/{(await find(env, 'b'))['id']}", person=env.bob)).status_code == 404


async def test_a_rename_that_is_interrupted_goes_on(env: Env, in_steps: None) -> None:
    links = [await env.make(tags=["x", "a", "y"]) for _ in range(5)]
    tag = await find(env, "a")
    assert (await rename(env, "a", "b")).json()["data"] == tag | {
        "name": "b",
        "links_count": 0,
        "updated_at": timestamp(env.clock()),
    }
    async with env.deps.db.read() as tx:
        id_ = (await tx.execute(select(bulk_changes.c.id))).scalar_one()
    assert await change_steps.run(env.deps, env.alice.account_id, id_)
    # both names are tags meanwhile, and each link has one of them
    assert [(each["name"], each["links_count"]) for each in (await ask(env, "GET")).json()["data"]] == [
        ("a", 3),
        ("b", 2),
        ("x", 5),
        ("y", 5),
    ]
    for answer in (
        await rename(env, "a", "c"),
        await rename(env, "b", "c"),
        await rename(env, "x", "b"),
        await ask(env, "DELETE", f"/{tag['id']}"),
    ):
        assert (answer.status_code, answer.json()["error"]["message"]) == (
            409,
            "Another change of many links is running. Try again when it has finished.",
        )
    assert (await ask(env, "PATCH", f"/{tag['id']}", color="red")).json()["data"]["color"] == "red"
    await changes.cancel(env.deps, await env.caller(), id_)  # half a rename must not stay
    late = await env.make(tags=["a"])  # by somebody who does not know yet
    await run_job(env)
    for link in links:
        assert await tags_of(env, link) == ["x", "b", "y"]
    assert await tags_of(env, late) == ["b"]
    assert await find(env, "b") == tag | {
        "name": "b",
        "color": "red",
        "links_count": 6,
        "updated_at": timestamp(env.clock()),
    }
    assert await names(env) == ["b", "x", "y"]
    assert (await rename(env, "b", "a")).status_code == 200


async def test_a_deleted_tag_is_one_until_no_link_has_it(env: Env, in_steps: None) -> None:
    await env.make(tags=["a"])
    await ask(env, "DELETE", f"/{(await find(env, 'a'))['id']}")
    assert await names(env) == ["a"]
    await run_job(env)
    assert await names(env) == []


async def test_statistics_follow(env: Env) -> None:
    await env.make(tags=["a"])
    async with env.deps.db.read() as tx:
        before = await accounts.count_label_changes(tx, env.alice.account_id)
    await rename(env, "a", "b")
    async with env.deps.db.read() as tx:
        assert await accounts.count_label_changes(tx, env.alice.account_id) > before


async def test_changes_are_in_the_audit_log(env: Env) -> None:
    await env.make(tags=["a", "c"])
    await ask(env, "POST", name="b")
    await rename(env, "b", "d", color="pink")
    await rename(env, "a", "c")
    await ask(env, "DELETE", f"/{(await find(env, 'd'))['id']}")
    changed = {entry.action: (entry.item.name, entry.changes) for entry in await entries_of(env)}
    assert {action: entry for action, entry in changed.items() if action.startswith("tag.")} == {
        "tag.created": ("b", {}),
        "tag.updated": ("b", {"name": ["b", "d"], "color": ["gray", "pink"]}),
        "tag.merged": ("a", {"name": ["a", "c"]}),
        "tag.deleted": ("d", {}),
    }
    assert not [action for action in changed if action.startswith("links.")], "links are changed by the tag's change"


async def test_clicks_of_tags_with_many_links_are_counted_before(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_SUMMED", 1)
    monkeypatch.setattr("waypost.resources.links.tags.clicks._FEW_LINKS", 1)
    for _ in range(2):
        link = await env.make(tags=["many"])
    await env.make(tags=["one"])
    await add_clicks(env, link, 7)
    count = TagClicks(env.deps.db, env.clock)
    assert ((await find(env, "many"))["links_count"], (await find(env, "many"))["clicks"]) == (2, 0)
    await count.step()
    assert (await find(env, "many"))["clicks"] == 7
    async with env.deps.db.write() as tx:
        await tx.execute(update(tags).values(clicks=5))
    await count.step()  # not due
    assert (await find(env, "many"))["clicks"] == 5
    env.clock.move(timedelta(minutes=11))
    await count.step()
    assert ((await find(env, "many"))["clicks"], (await find(env, "one"))["clicks"]) == (7, 0)


async def test_tags_are_exported_and_deleted_with_the_account(env: Env) -> None:
    await env.make(tags=["a", "b"])
    files = account_data.export(env.deps, (await env.caller()).account, env.clock())
    text = b"".join([part.content async for part in files["tags.ndjson"]]).decode()
    assert text.count("\n") == 2
    assert '"name":"a"' in text.replace(" ", "")
    async for _ in account_data.delete_account_data(env.deps, env.alice.account_id):
        pass
    assert await names(env) == []


async def test_a_restored_link_has_its_tags(env: Env) -> None:
    link = await env.make(tags=["a", "b"])
    caller, one = await env.caller(), Selection([UUID(link["id"])], LinkFilter())
    deletion = await changes.start(env.deps, caller, new_id(), "delete", one, {})
    await rename(env, "a", "c")
    assert [(tag["name"], tag["links_count"]) for tag in (await ask(env, "GET")).json()["data"]] == [("b", 0), ("c", 0)]
    await changes.undo(env.deps, caller, new_id(), deletion.id)
    listed = [(tag["name"], tag["links_count"]) for tag in (await ask(env, "GET")).json()["data"]]
    assert listed == [("a", 1), ("b", 1), ("c", 0)]


async def test_links_and_tags_change_at_the_same_time(env: Env, in_steps: None) -> None:
    """No link has a tag that is none, none has both names, and nothing waits for the other forever."""
    links = [await env.make(tags=["a", "b"]) for _ in range(4)]

    async def make() -> None:
        for number in range(6):
            await env.make(tags=["b", "a"] if number % 2 else ["a", "b", f"c{number}"])

    async def retag() -> None:
        for number in range(6):
            tags_ = ["b", "a", "d"] if number % 2 else ["d", "a"]
            await env.changed(links[number % 4], tags=tags_)

    async def rename_all() -> list[int]:
        answers = await asyncio.gather(rename(env, "a", "x"), rename(env, "b", "x"), rename(env, "a", "y"))
        return [answer.status_code for answer in answers]

    *_, statuses = await asyncio.gather(make(), retag(), make(), retag(), rename_all())
    assert set(statuses) <= {200, 409}
    assert 200 in statuses
    await run_job(env)
    shown = {tag["name"]: tag["links_count"] for tag in (await ask(env, "GET", "?per_page=100")).json()["data"]}
    counted = Counter(tag for link in (await env.browse("?per_page=100")).json()["data"] for tag in link["tags"])
    assert {name: count for name, count in shown.items() if count} == counted
    async with env.deps.db.read() as tx:
        stored = dict(await tx.execute(select(tags.c.name, tags.c.links_count)))
    assert stored == shown


async def test_the_migration_adds_the_tags_of_links(env: Env) -> None:
    await env.make(tags=["Ärger", "b"])
    await env.make(tags=["b"])
    await env.make(env.bob, tags=["b"])
    query = select(tags.c.account_id, tags.c.name, tags.c.folded_name, tags.c.color, tags.c.links_count)
    async with env.deps.db.read() as tx:
        before = sorted(map(tuple, await tx.execute(query)))

    def migrate(connection: Connection) -> None:
        tags.drop(connection)
        with Operations.context(MigrationContext.configure(connection)):
            import_module("waypost.database.migrations.versions.0066_tags").upgrade()

    await env.deps.db.run_sync(migrate)
    async with env.deps.db.read() as tx:
        assert sorted(map(tuple, await tx.execute(query))) == before
