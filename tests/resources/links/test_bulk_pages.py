"""Pages that change many links: preview, change, deletion with undo, find and replace."""

import asyncio
import re
from dataclasses import replace
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import httpx
import pytest
from browsing import Browser, WebApp
from claimed import claimed
from domains import count, domain, forget
from resources.links import test_aliases
from resources.links.env import Env, Website
from resources.links.test_domain import domains_of_links, until_waiting
from sqlalchemy import delete, select
from sqlalchemy import text as sql

from waypost.accounts import find_account
from waypost.kit.errors import Invalid, NotFound
from waypost.kit.ids import new_id
from waypost.resources.domains.model import domains
from waypost.resources.links import store
from waypost.resources.links.bulk import change_steps as bulk_change_steps
from waypost.resources.links.bulk import change_store as bulk_change_store
from waypost.resources.links.bulk import changes as bulk_changes
from waypost.resources.links.bulk.change_store import UNDO_TIME, BulkChange, Kind, Selection
from waypost.resources.links.lists.query import LinkFilter
from waypost.resources.links.model import CHANGE_JOB, PURGE_JOB, deleted_links, links
from waypost.worker.jobs import LONG, Again
from waypost.worker.jobs import jobs as jobs_table

_BLOCKED = sql("SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))")
ALL = Selection(None, LinkFilter())


async def start(env: Env, kind: Kind, selection: Selection, **values: Any) -> BulkChange:
    return await bulk_changes.start(env.deps, await env.caller(), new_id(), kind, selection, values)


async def run_job(env: Env, change: BulkChange, attempt: int = 1) -> BulkChange:
    job = claimed(CHANGE_JOB, {"id": str(change.id)}, env.alice.account_id, attempt=attempt)
    await bulk_changes.run(env.deps, job)
    return await bulk_changes.get(env.deps, env.alice.account_id, change.id)


async def undo(env: Env, change: BulkChange) -> BulkChange:
    return await bulk_changes.undo(env.deps, await env.caller(), new_id(), change.id)


async def total(env: Env, query: str = "") -> int:
    return (await env.browse(query)).json()["meta"]["total"]


async def test_a_filter_is_changed_by_a_job_in_steps(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_change_steps, "STEP", 2)
    monkeypatch.setattr(bulk_changes, "MAX_NOW", 0)
    for number in range(5):
        env.clock.move(timedelta(seconds=number % 2))  # some at the same time
        await env.make(tags=["a"] if number else [])
    await env.make(env.bob, tags=["a"])
    change = await start(env, "set", Selection(None, LinkFilter(tag="a", status="active")), set={"status": "inactive"})
    assert (change.state, change.total, change.done) == ("running", 4, 0)
    env.clock.move(timedelta(seconds=1))
    await env.make(tags=["a"], slug="later")
    done = await run_job(env, change)
    assert (done.state, done.done, done.changed, done.refused_count) == ("finished", 4, 4, 0)
    assert await total(env, "?status=inactive") == 4
    assert (await run_job(env, change)) == done  # a repeated job finds nothing to do


async def test_one_job_at_a_time(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_changes, "MAX_NOW", 0)
    await env.make()
    first = await start(env, "set", ALL, set={"add_tags": ["x"]})
    with pytest.raises(Invalid, match="invalid"):
        await start(env, "set", ALL, set={"add_tags": ["y"]})
    await bulk_changes.cancel(env.deps, await env.caller(), first.id)
    assert (await run_job(env, first)).state == "cancelled"
    assert await total(env, "?tag=x") == 0
    await start(env, "set", ALL, set={"add_tags": ["y"]})


async def test_refused_links_are_listed(env: Env) -> None:
    full = await env.make(tags=[str(n) for n in range(100)], slug="full")
    free = await env.make()
    both = Selection([UUID(link["id"]) for link in (full, free)], LinkFilter())
    change = await start(env, "set", both, set={"add_tags": ["x"]})
    assert (change.state, change.changed, change.refused_count) == ("finished", 1, 1)
    [(address, reason)] = change.refused
    assert (address, "100 tags" in reason) == ("go.test/full", True)


async def test_a_deletion_can_be_undone(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_change_steps, "STEP", 2)
    pixel = await env.pixel()
    made = [await env.make(tags=["a", f"{n}"], slug=f"s{n}", pixel_ids=[pixel]) for n in range(3)]
    env.changed_slugs.clear()
    deletion = await start(env, "delete", ALL)
    assert (deletion.state, deletion.changed) == ("finished", 3)
    assert set(env.changed_slugs) == {"s0", "s1", "s2"}
    assert [(await env.find(link)).status_code for link in made] == [404] * 3
    assert (await total(env), await total(env, "?tag=a")) == (0, 0)
    again = await env.make(slug="s1")
    env.changed_slugs.clear()
    restored = await undo(env, deletion)
    assert (restored.state, restored.changed) == ("finished", 2)
    assert [address for address, _ in restored.refused] == ["go.test/s1"]
    assert {"s0", "s2"} <= set(env.changed_slugs)
    for link in (made[0], made[2]):
        assert (await env.find(link)).json()["data"] == link
    assert (await env.find(again)).status_code == 200
    assert (await total(env), await total(env, "?tag=a"), await total(env, "?search=s2")) == (3, 2, 1)
    with pytest.raises(NotFound):
        await undo(env, deletion)


async def test_a_link_whose_external_id_is_used_again_stays_deleted(env: Env) -> None:
    made = [await env.make(slug=f"s{n}", options={"external_id": f"{n}"}) for n in range(2)]
    deletion = await start(env, "delete", ALL)
    await env.make(options={"external_id": "0"})
    restored = await undo(env, deletion)
    assert restored.refused == [["go.test/s0", "Another link uses its slug or its external ID now."]]
    assert (await env.find(made[1])).json()["data"] == made[1]


async def test_an_external_id_that_is_used_while_its_link_is_restored_stays_with_the_other(env: Env) -> None:
    made = [await env.make(slug=f"s{n}", tags=["a"], options={"external_id": f"{n}"}) for n in range(3)]
    deletion = await start(env, "delete", ALL)
    other = UUID((await env.make())["id"])
    async with env.deps.db.write() as tx:
        before = await store.lock(tx, env.alice.account_id, other)
        await store.save(tx, [(before, replace(before, external_id="1"))])
        restoring = asyncio.create_task(undo(env, deletion))
        while tx.dialect.name == "postgresql" and not (restoring.done() or await tx.scalar(_BLOCKED)):
            pass
    restored = await restoring
    assert restored.refused == [["go.test/s1", "Another link uses its slug or its external ID now."]]
    for link in (made[0], made[2]):
        assert (await env.find(link)).json()["data"] == link
    assert await total(env, "?tag=a") == 2


async def test_one_of_two_restored_links_gets_their_external_id(env: Env) -> None:
    for slug in ("s0", "s1"):
        link = await env.make(slug=slug, options={"external_id": "1"})
        async with env.deps.db.write() as tx:
            await store.hide(tx, [await store.lock(tx, env.alice.account_id, UUID(link["id"]))], env.clock())
    async with env.deps.db.write() as tx:
        ids = list(await tx.scalars(select(links.c.id)))
        hidden = await store.find_hidden(tx, env.alice.account_id, ids)
        assert len(await store.unhide(tx, hidden)) == 1


async def test_a_link_whose_domain_was_deleted_meanwhile_comes_back_on_the_shared_one(env: Env) -> None:
    db = env.deps.db
    gone, kept = [await domain(db, env.alice.account_id, f"{name}.test") for name in ("gone", "kept")]
    made = [await env.make(slug=name, hostname=f"{name}.test") for name in ("gone", "kept")]
    deletion = await start(env, "delete", ALL)
    await forget(db, gone)
    await undo(env, deletion)
    assert [(await env.find(link)).json()["data"]["short_url"] for link in made] == ["go.test/gone", "kept.test/kept"]
    async with db.read() as tx:
        assert {*(await tx.scalars(select(links.c.domain_id)))} == {None, kept}
    assert await count(db, kept) == 1


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_a_link_whose_domain_is_deleted_while_it_is_restored_is_on_the_shared_one(env: Env) -> None:
    """The job of the deletion may have run before the link is seen; the other domain counts its link all the same."""
    db = env.deps.db
    gone, kept = [await domain(db, env.alice.account_id, f"{name}.test") for name in ("gone", "kept")]
    for name in ("gone", "kept"):
        await env.make(hostname=f"{name}.test")
    deletion = await start(env, "delete", ALL)
    async with db.write() as tx:
        await tx.execute(delete(domains).where(domains.c.id == gone))
        restoring = asyncio.create_task(undo(env, deletion))
        await until_waiting(db, 1)
    await restoring
    assert await domains_of_links(db) == {None, kept}
    assert await count(db, kept) == 1


async def test_aliases_come_back_with_their_link(env: Env) -> None:
    await domain(env.deps.db, env.alice.account_id, test_aliases.NAME)
    await test_aliases.added(env, await env.make(slug="one"), "old/path")
    deletion = await start(env, "delete", ALL)
    assert await test_aliases.target(env, "old/path") is None
    env.changed_slugs.clear()
    await undo(env, deletion)
    assert await test_aliases.target(env, "old/path") is not None
    assert set(env.changed_slugs) == {"one", "~one", test_aliases.NAME, "~old/path"}


async def test_after_a_day_deleted_links_are_gone(env: Env) -> None:
    pixel = await env.pixel()
    image = await env.send_form("POST", "", [("destination_url", env.site.url())], file=_png())
    assert image.status_code == 201, image.text
    link = await env.make(pixel_ids=[pixel])
    deletion = await start(env, "delete", ALL)
    assert len(await env.uploaded_images()) == 1
    async with env.deps.db.read() as tx:
        rows = (await tx.execute(select(jobs_table.c.name, jobs_table.c.run_at, jobs_table.c.payload))).all()
    [purge] = [row for row in rows if row.name == PURGE_JOB.name]
    assert purge.run_at > env.clock() + UNDO_TIME
    env.clock.move(UNDO_TIME)
    with pytest.raises(NotFound):
        await undo(env, deletion)
    job = claimed(PURGE_JOB, purge.payload, env.alice.account_id)
    for _ in range(2):
        await bulk_changes.purge(env.deps, job)
    assert await env.uploaded_images() == {}
    with pytest.raises(NotFound):
        await bulk_changes.get(env.deps, env.alice.account_id, deletion.id)
    async with env.deps.db.read() as tx:
        assert (await tx.execute(select(deleted_links))).all() == []
        account = await find_account(tx, env.alice.account_id)
    assert account is not None
    assert (await env.find(link)).status_code == 404
    await env.make(slug=link["slug"])


async def test_a_change_that_takes_longer_than_a_day_is_not_deleted(env: Env) -> None:
    await env.make()
    change = await start(env, "replace", ALL, find="/", replacement="/")
    job = claimed(PURGE_JOB, {"id": str(change.id)}, env.alice.account_id)
    env.clock.move(timedelta(hours=25))
    assert await bulk_changes.purge(env.deps, job) == Again(env.clock() + timedelta(hours=1))
    assert (await bulk_changes.get(env.deps, env.alice.account_id, change.id)).state == "running"
    env.clock.move(timedelta(days=7))
    await bulk_changes.purge(env.deps, job)
    with pytest.raises(NotFound):
        await bulk_changes.get(env.deps, env.alice.account_id, change.id)


def _png() -> bytes:
    import io

    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(out, "PNG")
    return out.getvalue()


async def test_replaces_in_destinations(env: Env) -> None:
    env.site.pages |= {f"/{name}": (200, "<title>x</title>") for name in ("old/1", "old/2", "new/1")}
    env.site.pages["/new/2"] = (500, "")
    first = await env.make(destination_url=env.site.url("/old/1"), utm_params={"utm_source": "a"}, slug="one")
    second = await env.make(destination_url=env.site.url("/old/2"), slug="two")
    other = await env.make()
    change = await start(env, "replace", ALL, find="/old/", replacement="/new/")
    assert (change.state, change.total) == ("running", 2)
    change = await run_job(env, change)
    assert (change.state, change.done, change.changed) == ("finished", 2, 1)
    [(address, reason)] = change.refused
    assert (address, "could not be reached" in reason) == ("go.test/two", True)
    found = [(await env.find(link)).json()["data"]["destination_url"] for link in (first, second, other)]
    assert found == [env.site.url("/new/1/?utm_source=a"), env.site.url("/old/2"), env.site.url()]


async def test_an_interrupted_replacement_replaces_once(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result contains what was searched for."""
    links_ = [await env.make(destination_url=env.site.url(f"/page?n={n}")) for n in range(6)]
    change = await start(env, "replace", ALL, find="/page", replacement="/page/page")
    env.site.pages["/page/page"] = (200, "")
    save = bulk_change_store.save
    calls = 0

    async def failing(*args: Any, **rest: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:  # the links are changed, and this is not stored
            raise ConnectionError
        await save(*args, **rest)

    monkeypatch.setattr(bulk_change_store, "save", failing)
    with pytest.raises(ConnectionError):
        await run_job(env, change)
    change = await run_job(env, change, attempt=2)
    assert (change.state, change.changed) == ("finished", 6)
    found = {(await env.find(link)).json()["data"]["destination_url"] for link in links_}
    assert found == {env.site.url(f"/page/page?n={n}") for n in range(6)}


async def test_a_change_is_continued_after_its_process_was_killed_in_many_attempts(
    env: Env, monkeypatch: pytest.MonkeyPatch
) -> None:
    await env.make()
    change = await start(env, "replace", ALL, find="page", replacement="other")
    async with env.deps.db.read() as tx:
        job = (await tx.execute(select(jobs_table).where(jobs_table.c.name == CHANGE_JOB.name))).one()
    assert job.max_attempts > 100
    assert (await run_job(env, change, attempt=9)).state == "finished"

    async def failing(*_: Any) -> bool:
        raise ConnectionError

    async def hanging(*_: Any) -> bool:
        await asyncio.Event().wait()
        return True

    no_time = replace(CHANGE_JOB, queue=replace(LONG, timeout=timedelta(seconds=2)))
    monkeypatch.setattr(bulk_changes, "CHANGE_JOB", no_time)
    for step, error in ((failing, ConnectionError), (hanging, TimeoutError)):
        change = await start(env, "replace", ALL, find="other", replacement="page")
        with monkeypatch.context() as broken:
            broken.setattr(bulk_change_steps, "run", step)
            for attempt, state in ((7, "running"), (8, "failed")):
                with pytest.raises(error):
                    await run_job(env, change, attempt=attempt)
                assert (await bulk_changes.get(env.deps, env.alice.account_id, change.id)).state == state


# ── pages ──


async def make(who: Browser, site: Website, **fields: Any) -> str:
    answer = await who.post("/links/new", {"destination_url": site.url()} | fields)
    return answer.headers["location"].removeprefix("/links/").removesuffix("?done=created")


def hidden(page: httpx.Response) -> dict[str, Any]:
    """The fields of the form that applies a previewed change."""
    form = page.text[page.text.index('method="post" action="/links/bulk"') :]
    fields: dict[str, Any] = {}
    pattern = r'<input type="hidden" name="([^"]+)" value="([^"]*)">'
    for name, value in re.findall(pattern, form[: form.index("</form>")]):
        fields.setdefault(unescape(name), []).append(unescape(value))
    return fields


async def test_change_preview_and_result(place: WebApp, site: Website) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    ids = [await make(ada, site, slug=slug, new_tags="old") for slug in ("one", "two")]
    foreign = await make(bob, site)
    listed = (await ada.get("/links")).text
    assert all(f'value="{id_}" form="bulk"' in listed for id_ in ids)
    chosen = urlencode([("ids[]", id_) for id_ in [*ids, foreign]])
    page = await ada.get(f"/links/bulk?{chosen}")
    assert "Change 2 links" in page.text
    fields = {"action": "set", "set[status]": "inactive", "set[add_tags]": "new, <b>", "set[remove_tags]": "old"}
    preview = await ada.get(f"/links/bulk?{chosen}&{urlencode(fields)}")
    assert preview.status_code == 200
    for text in (
        "app.test/one",
        "Add the tags: new, &lt;b&gt;.",
        '<del class="muted">old</del>',
        "<ins>new, &lt;b&gt;</ins>",
    ):
        assert text in preview.text, text
    sent = hidden(preview)
    answers = [await ada.post("/links/bulk", sent) for _ in range(2)]  # sent twice, done once
    assert [answer.status_code for answer in answers] == [303, 303]
    result = (await ada.get(answers[0].headers["location"])).text
    assert "2 of 2 links changed." in result
    assert (await bob.get(answers[0].headers["location"])).status_code == 404
    assert (await ada.get("/links?tag=new&status=inactive")).text.count('form="bulk"') == 2
    assert "Disabled" not in (await bob.get("/links")).text


async def test_a_campaign_template_fills_the_parameters_of_links(place: WebApp, site: Website) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    chosen = urlencode({"ids[]": await make(ada, site, slug="campaign")})
    assert "Campaign parameters" not in (await ada.get(f"/links/bulk?{chosen}")).text
    await ada.post("/links/utm-templates/new", {"name": "News & more", "utm_params[utm_source]": "news"})
    page = (await ada.get(f"/links/bulk?{chosen}")).text
    [template] = re.findall(r'<option value="([0-9a-f-]{36})">News &amp; more</option>', page)
    preview = await ada.get(f"/links/bulk?{chosen}&action=set&utm_template={template}")
    assert "Set the campaign parameters in the destinations: utm_source=news." in preview.text
    answer = await ada.post("/links/bulk", hidden(preview))
    assert "1 of 1 link changed." in (await ada.get(answer.headers["location"])).text
    assert "utm_source=news" in (await ada.get("/links")).text
    foreign = urlencode({"ids[]": await make(bob, site), "action": "set", "utm_template": template})
    assert "This campaign template no longer exists." in (await bob.get(f"/links/bulk?{foreign}")).text


async def test_deletion_and_undo_on_pages(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    for slug in ("x1", "x2", "other"):
        await make(ada, site, slug=slug)
    preview = await ada.get("/links/bulk?all=1&search=x&action=delete")
    assert ("Delete 2 links" in preview.text, "undo this for 24 hours" in preview.text) == (True, True)
    answer = await ada.post("/links/bulk", hidden(preview))
    result = await ada.get(answer.headers["location"])
    assert "2 of 2 links deleted." in result.text
    assert (await ada.get("/links")).text.count('form="bulk"') == 1
    undone = await ada.post(f"{answer.headers['location']}/undo", {"change_id": str(new_id())})
    assert "2 of 2 links restored." in (await ada.get(undone.headers["location"])).text
    assert (await ada.get("/links")).text.count('form="bulk"') == 3
    assert "Undo" not in (await ada.get(answer.headers["location"])).text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("all=1&action=set", "Choose at least one change."),
        ("all=1&action=set&expiry=at", "This must be a date and time"),
        ("all=1&action=set&set%5Bstatus%5D=x", "This must be one of: active, inactive."),
        ("all=1&action=replace&find=", "Enter the text to find."),
        ("ids%5B%5D=x&action=delete", "No links selected"),
    ],
)
async def test_shows_problems_beside_their_fields(place: WebApp, site: Website, query: str, text: str) -> None:
    ada = await place.browser("ada@example.com")
    await make(ada, site)
    page = await ada.get(f"/links/bulk?{query}")
    assert (page.status_code, text in page.text) == (422, True)


async def test_replacement_runs_in_the_background(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    await make(ada, site)
    preview = await ada.get(
        "/links/bulk?" + urlencode({"all": 1, "action": "replace", "find": "/page", "replacement": "/<x>"})
    )
    assert f"<ins>{site.url('/%3Cx%3E')}</ins>" in preview.text
    answer = await ada.post("/links/bulk", hidden(preview))
    running = await ada.get(answer.headers["location"])
    assert ("0 of 1 links done" in running.text, 'hx-trigger="every 1s"' in running.text) == (True, True)
    fragment = await ada.get(answer.headers["location"], headers={"HX-Request": "true", "HX-Target": "change"})
    assert fragment.text.startswith('<section class="card" id="change"')
    await ada.post(f"{answer.headers['location']}/cancel")
    assert "cancelled" in (await ada.get(answer.headers["location"])).text


async def test_without_a_plan_links_are_disabled_and_deleted_only(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com", plan="past_due")
    for query, status in (
        ("set%5Bstatus%5D=inactive&action=set", 200),
        ("action=delete", 200),
        ("set%5Badd_tags%5D=x&action=set", 402),
        ("action=replace&find=a", 402),
    ):
        assert (await ada.get(f"/links/bulk?all=1&{query}")).status_code == status
