"""GET /v1/domains/{id}/missed, its pages, and what of the visits without a link is counted."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from browsing import WebApp, open_place
from people import START
from resources.clicks.test_dashboard import link_of
from resources.domains.env import NAME, Env
from sqlalchemy import func, select, update

from waypost.redirect import MissedAddresses, MissedVisits
from waypost.resources.domains.missed import rules, service, store
from waypost.resources.domains.missed.model import MAX_PATHS, MissedAddress, missed_addresses
from waypost.resources.domains.model import domains


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as opened:
        yield opened


def visit(path: bytes, visits: int = 1, *, host: str = NAME) -> MissedVisits:
    return MissedVisits(host.encode(), path, visits)


async def serve(env: Env) -> dict[str, str]:
    made = await env.make()
    async with env.deps.db.write() as tx:
        await tx.execute(update(domains).values(is_served=True))
    return made


async def count(env: Env, *found: MissedVisits) -> None:
    await service.count_missed(env.deps.db, env.clock, found, "go.test")


async def test_lists_what_people_missed(env: Env) -> None:
    made = await serve(env)
    await count(env, visit(b"sumer", 2), visit(b"may/be"), visit(b"x", host="no.test"))
    first = env.clock()
    env.clock.move(timedelta(days=2))
    await count(env, visit(b"sumer"), visit("café ✓".encode()), visit(b"bad\xff"))
    answer = (await env.ask("GET", f"/{made['id']}/missed")).json()
    assert [(each["path"], each["visits"]) for each in answer["data"]] == [
        ("/sumer", 3),
        ("/café ✓", 1),
        ("/may/be", 1),
    ]
    assert answer["meta"]["total"] == 3
    assert answer["data"][0]["first_at"].startswith(f"{first:%Y-%m-%dT%H:%M:%S}")
    assert answer["data"][0]["last_at"].startswith(f"{env.clock():%Y-%m-%dT%H:%M:%S}")
    assert (await env.ask("GET", f"/{made['id']}/missed", who=env.bob)).status_code == 404
    env.clock.move(timedelta(days=29))
    assert (await env.ask("GET", f"/{made['id']}/missed")).json()["meta"]["total"] == 2
    await service.delete_old(env.deps)
    async with env.deps.db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(missed_addresses)) == 2
    await env.delete(made)
    async with env.deps.db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(missed_addresses)) == 0


async def test_a_day_has_a_limited_number_of_paths(env: Env) -> None:
    made = await serve(env)
    await count(env, *(visit(b"flood-%d" % number) for number in range(MAX_PATHS - 1)))
    await count(env, visit(b"once"), visit(b"often", 5), visit(b"flood-0", 2))
    async with env.deps.db.read() as tx:
        rows = await tx.execute(select(missed_addresses.c.path, missed_addresses.c.visits))
        visits = {row.path: row.visits for row in rows}
    assert (len(visits), visits["/often"], visits.get("/once"), visits["/flood-0"]) == (MAX_PATHS, 5, None, 3)
    await count(env, visit(b"later", 2), visit(b"once"))
    async with env.deps.db.read() as tx:
        paths = set(await tx.scalars(select(missed_addresses.c.path)))
    assert (len(paths), {"/often", "/later", "/flood-0"} <= paths, "/once" in paths) == (MAX_PATHS, True, False)
    assert UUID(made["id"])


@pytest.mark.parametrize(
    ("path", "is_shown"),
    [
        (b"summer-24", True),
        (b"menu.pdf", True),
        (b"Sommer/Aktion", True),
        (b"phpbook", True),
        (b"apiary", True),
        (b"wp-login.php", False),
        (b"index.php/a", False),
        (b".env", False),
        (b"a/.git/config", False),
        (b"cgi-bin/luci", False),
        (b"api/v1/users", False),
        (b"favicon.ico", False),
        (b"apple-touch-icon-120x120.png", False),
        (b"..%2f..%2fetc", False),
        (b"<script>", False),
        (b"a\x00b", False),
        (b"${jndi:ldap://x}", False),
        (b"union-select", True),
        (b"union select (1)", False),
    ],
)
def test_leaves_out_what_scanners_look_for(path: bytes, *, is_shown: bool) -> None:
    assert bool(rules.worth_showing([visit(path)])) is is_shown


def test_counts_together_what_is_cut_alike() -> None:
    found = [visit(("й" * 200 + end).encode(), 2) for end in ("", "a", "b" * 300)]
    assert rules.worth_showing(found) == {NAME: Counter({"/" + "й" * 200: 6})}
    assert MissedAddress("/" + "a" * 200, 1, START, START).alias == ""
    assert MissedAddress("/" + "a" * 199, 1, START, START).slug == "a" * 199


def test_keeps_few_addresses_however_many_there_are() -> None:
    missed = MissedAddresses()
    for number in range(1_000):
        missed.note(b"flooded.test", b"%d" % number)
    missed.note(NAME.encode(), b"s" * 3_000)
    missed.note(NAME.encode(), b"")
    missed.note(b"flooded.test", b"0")
    found = missed.take()
    assert (len(found), found[0].visits, found[-1].path) == (201, 2, b"s" * 1_024)
    assert missed.take() == []
    for number in range(3_000):
        missed.note(b"%d.test" % number, b"a")
    assert len(missed.take()) == 2_000


async def test_pages(place: WebApp) -> None:
    ada, eve = await place.browser("ada@example.com"), await place.browser("eve@example.com")
    made = await ada.post("/domains", {"hostname": "go.brand.com"})
    path = made.headers["location"].partition("?")[0]
    link = await link_of(place, ada, slug="summer")
    assert f'href="{path}/missed"' in (await ada.get(path)).text
    assert "No missed addresses" in (await ada.get(f"{path}/missed")).text
    async with place.db.write() as tx:
        await store.add(tx, UUID(path.rpartition("/")[2]), {"/sumer": 4, "/a/ü": 1}, place.clock())
    page = (await ada.get(f"{path}/missed")).text
    assert page.count("Create link") == 1
    assert "/links/new?hostname=go.brand.com&amp;slug=sumer" in page
    assert 'value="sumer"' in (await ada.get("/links/new?hostname=go.brand.com&slug=sumer")).text
    form = "/links/addresses/new"
    assert 'path=a%2F%C3%BC"' in page
    assert 'value="a/ü"' in (await ada.get(f"{form}?hostname=go.brand.com&path=a%2F%C3%BC")).text
    fields = {"hostname": "go.brand.com", "path": "a/ü", "link": "https://app.test/summer"}
    assert "no link with this short URL" in (await ada.post(form, fields | {"link": "app.test/none"})).text
    assert (await eve.post(form, fields)).status_code == 422
    assert (await ada.post(form, fields)).headers["location"] == f"/links/{link.id}/addresses?done=address-added"
    assert (await eve.get(f"{path}/missed")).status_code == 404
    assert (await ada.get("/operator/missed")).status_code == 404
