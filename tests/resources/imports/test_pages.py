"""Imports in the dashboard, as a browser without scripts gets them, and the turns of the worker."""

import asyncio
import csv
import io
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import unquote
from uuid import UUID, uuid4

import pytest
from accounts.archived import exported, furnish, rows
from browsing import Browser, WebApp, open_place
from people import new_person
from resources.imports.servers.bitly import USED_UP, Bitly, bitlink
from resources.imports.servers.every import SERVICES, TOKENS
from resources.imports.servers.scripted import TOKEN, TOO_MANY
from sqlalchemy import func, select, update

from waypost.accounts.data.deletion import delete_rows
from waypost.accounts.sessions import store as sessions
from waypost.audit import Actor
from waypost.audit import store as audit_store
from waypost.audit.store import AuditFilter
from waypost.composition import new_context, new_destination_checker
from waypost.kit.errors import Unavailable
from waypost.kit.urls import Url
from waypost.outbound import DestinationChecker, Outbound, UrlSafety
from waypost.redirect import ChangeFeed
from waypost.resources.clicks.backends.sql.rebuild import check
from waypost.resources.imports import account_data, deps
from waypost.resources.imports import service as import_service
from waypost.resources.imports import store as import_store
from waypost.resources.imports.archive import parts
from waypost.resources.imports.model import TURN_JOB, Import, import_file_pieces, imports
from waypost.resources.imports.requests import service as request_service
from waypost.resources.imports.requests import turn, turns
from waypost.resources.imports.requests.expiry import give_up_unused
from waypost.resources.imports.requests.outcome import Outcome
from waypost.resources.imports.requests.uploads import new_uploads
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.source import SourceError, SourceOptions
from waypost.resources.imports.sources import open_source
from waypost.resources.imports.sources import waypost as waypost_source
from waypost.resources.links.lists.csv_file import TITLES
from waypost.resources.links.model import links
from waypost.worker.jobs import LONG, Again, JobRunner, jobs
from waypost.worker.loop import WorkerLoop

CSV = b"Destination URL,Short link,Title\r\nhttps://example.com/1,https://go.acme.test/one,One\r\n"


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path, outbound_allow="127.0.0.0/8", shared_domain="go.test") as place:
        yield place


@pytest.fixture
async def ada(place: WebApp) -> Browser:
    return await place.browser("ada@example.com")


@contextmanager
def new_turn(place: WebApp) -> Iterator[turn.Turn]:
    """What the process of a turn runs."""
    with (
        closing(ChangeFeed(place.settings.data_dir / "run" / "changes")) as feed,
    ):
        uploads = new_uploads(place.db, place.settings.data_dir)
        context = new_context(place.settings, place.db, feed.publish, place.clock)
        import_deps = deps.new_deps(place.settings, context, new_destination_checker(place.settings, context.outbound))
        yield turn.Turn(import_deps, uploads, import_deps.outbound, time.monotonic, asyncio.Event())


async def work_off(place: WebApp) -> None:
    """What the worker and the processes of turns do until no job is due."""
    with new_turn(place) as of_process:
        handler = turns.Turns(place.db, of_process.uploads, place.clock, of_process.run)
        loop = WorkerLoop(place.db, JobRunner(replace(LONG, poll_interval=0), {TURN_JOB: handler}, clock=place.clock))
        while await loop.step():
            pass


async def start_csv(ada: Browser, content: bytes = CSV, **fields: str) -> str:
    files = {"file": ("links.csv", content, "text/csv")}
    answer = await ada.post("/links/import/csv", fields, files=files)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def text_of(browser: Browser, path: str) -> str:
    """The page's text, without markup."""
    answer = await browser.get(path)
    assert answer.status_code == 200, answer.text
    main = answer.text.partition("<main")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", main)).split())


async def row(place: WebApp) -> Any:
    async with place.db.read() as tx:
        return (await tx.execute(select(imports))).one()


async def newest_row(place: WebApp) -> Any:
    async with place.db.read() as tx:
        return (await tx.execute(select(imports).order_by(imports.c.id.desc()))).first()


async def stopped_imports(place: WebApp) -> list[str]:
    """Those that `waypost doctor` reports."""
    async with place.db.read() as tx:
        return await import_store.find_stopped(tx)


async def count_links(place: WebApp) -> int:
    async with place.db.read() as tx:
        return (await tx.execute(select(func.count()).select_from(links))).scalar_one()


async def test_imports_a_file_after_its_plan_was_confirmed(place: WebApp, ada: Browser) -> None:
    assert "CSV file" in await text_of(ada, "/links/import")
    path = await start_csv(ada)
    assert "Nothing is imported yet" in await text_of(ada, path)
    await work_off(place)
    plan = await text_of(ada, path)
    assert "Plan Links found 1 To create 1" in plan
    assert "go.acme.test" in plan
    assert await count_links(place) == 0
    answer = await ada.post(f"{path}/start", {"host-0": "go.acme.test", "domain-0": ""})
    assert answer.headers["location"] == path
    assert "Importing" in await text_of(ada, path)
    await work_off(place)
    assert "Report Links found 1 Created 1" in await text_of(ada, path)
    assert await count_links(place) == 1
    assert "go.test/one" in (await ada.get("/links")).text
    assert not await new_uploads(place.db, place.settings.data_dir).list_ids()


async def test_the_template_is_read_as_it_is(place: WebApp, ada: Browser) -> None:
    page = (await ada.get("/links/import/csv")).text
    template = unquote(unescape(re.search(r'href="data:text/csv,([^"]+)"', page)[1])).encode()
    path = await start_csv(ada, template)
    await work_off(place)
    shown = await text_of(ada, path)
    assert "Links found 1 To create 1" in shown
    options = re.findall(r'<option value="([^"]*)" selected', (await ada.get(path)).text)
    assert "" not in options[: len(TITLES)]


async def test_a_campaign_template_fills_links_without_parameters(place: WebApp, ada: Browser) -> None:
    assert "Campaign parameters" not in await text_of(ada, "/links/import/csv")
    await ada.post("/links/utm-templates/new", {"name": "Move", "utm_params[utm_source]": "move"})
    page = (await ada.get("/links/import/csv")).text
    [template] = re.findall(r'<option value="([0-9a-f-]{36})">Move</option>', page)
    long = b"https://example.com/" + b"x" * 2_020
    rows = [b"https://example.com/1", b"https://example.com/?utm_term=own", long]
    content = b"Destination URL\r\n" + b"\r\n".join(rows)
    path = await start_csv(ada, content, utm_template=template)
    await work_off(place)
    assert "Links found 3 To create 2 To update 0 Unchanged 0 Refused 1" in (plan := await text_of(ada, path))
    assert "no UTM parameters get utm_source=move." in plan
    await ada.post(f"{path}/start", {})
    await work_off(place)
    async with place.db.read() as tx:
        made = (await tx.execute(select(links.c.destination_url, links.c.utm_params))).all()
    filled = ("https://example.com/1/?utm_source=move", {"utm_source": "move"})
    assert sorted(map(tuple, made)) == [filled, ("https://example.com/?utm_term=own", {})]
    again = await start_csv(ada, content)  # without the template: what is here stays
    await work_off(place)
    assert "Unchanged 2" in await text_of(ada, again)
    gone = await ada.post(
        "/links/import/csv", {"utm_template": str(uuid4())}, files={"file": ("a.csv", CSV, "text/csv")}
    )
    assert (gone.status_code, "no longer exists" in gone.text) == (422, True)


async def test_shows_imported_totals_apart_from_clicks(place: WebApp, ada: Browser) -> None:
    rows_ = b"Destination URL,Short link,Clicks\nhttps://example.com/1,go.acme.test/one,618\nhttps://example.com/2,go.acme.test/two,1000\n"
    path = await start_csv(ada, rows_)
    await work_off(place)
    unchanged = "Updated 0 Unchanged 0 Refused 0"
    assert (
        f"Plan Links found 2 To create 2 To update 0 {unchanged[10:]} Clicks to import as totals 1,618"
        in await text_of(ada, path)
    )
    await ada.post(f"{path}/start", {})
    await work_off(place)
    report = await text_of(ada, path)
    assert "Links found 2 Created 2 Updated 0 Unchanged 0 Refused 0 Clicks imported as totals 1,618" in report
    listed = await text_of(ada, "/links")
    assert ("0 clicks 618 imported" in listed, "0 clicks 1k imported" in listed) == (True, True)
    overview = await text_of(ada, "/stats")
    assert "1,618 imported : clicks that another service counted before links were imported." in overview
    assert "Clicks 0 " in overview
    async with place.db.read() as tx:
        [id_] = await tx.scalars(select(links.c.id).where(links.c.slug == "one"))
    assert "618 imported : clicks that another service counted" in await text_of(ada, f"/links/{id_}")
    again = await start_csv(ada, rows_.replace(b"618", b"620"))
    await work_off(place)
    assert "To update 1 Unchanged 1 Refused 0 Clicks to import as totals 620" in await text_of(ada, again)


def choices_of(html: str) -> dict[str, str]:
    """The chosen option of each select of a page."""
    chosen = r'<select[^>]* name="([^"]+)"(?:(?!</select>)[^])*?<option value="([^"]*)" selected>'
    return dict(re.findall(chosen.replace("[^]", r"[\s\S]"), html))


async def test_lets_people_say_what_columns_are(place: WebApp, ada: Browser) -> None:
    path = await start_csv(
        ada, b"Ziel,K\xc3\xbcrzel,Name\nhttps://example.com/1,one,Eins\nhttps://example.com/2,two,\n"
    )
    await work_off(place)
    stopped = await text_of(ada, path)
    assert "has no column with destinations" in stopped
    assert "Ziel https://example.com/1 https://example.com/2" in stopped
    assert "Kürzel one two" in stopped
    assert choices_of((await ada.get(path)).text) == {"column-2": "title"}
    for columns, problem in (
        (("", "path", "title"), "Choose which column is the Destination URL."),
        (("destination", "title", "title"), "Choose one column only for: Title."),
        (("destination", "password", ""), "Choose from the lists."),
    ):
        form = {f"column-{number}": name for number, name in enumerate(columns)}
        answer = await ada.post(f"{path}/plan", form)
        assert answer.status_code == 422
        assert problem in answer.text
    assert choices_of(answer.text) == {"column-0": "destination"}  # as it was sent
    form = {"column-0": "destination", "column-1": "path", "column-2": "title"}
    assert (await ada.post(f"{path}/plan", form)).status_code == 303
    await work_off(place)
    assert "Plan Links found 2 To create 2 " in await text_of(ada, path)
    assert choices_of((await ada.get(path)).text) == form
    await ada.post(f"{path}/start", form | {"column-2": ""})  # without another plan
    await work_off(place)
    assert "Report Links found 2 Created 2 Updated 0 Unchanged 0 Refused 0" in await text_of(ada, path)
    async with place.db.read() as tx:
        made = (await tx.execute(select(links.c.slug, links.c.title).order_by(links.c.slug))).all()
    assert made == [("one", "Untitled"), ("two", "Untitled")]


async def test_lets_people_choose_the_encoding_where_it_was_guessed(place: WebApp, ada: Browser) -> None:
    letters = "Привет, мир! Распродажа летней обуви".encode("cp1251")
    content = b"Destination URL,Slug,Title\nhttps://example.com/1,one,'" + letters.replace(b",", b"") + b"'\n"
    path = await start_csv(ada, content)
    await work_off(place)
    page = await text_of(ada, path)
    assert "The file is not UTF-8. By its letters it was read as Windows-1251." in page
    assert "Windows-1251: 'Привет мир! " in page
    assert "Windows-1252: 'Ïðèâåò ìèð! " in page
    assert choices_of((await ada.get(path)).text)["encoding"] == "cp1251"
    await ada.post(f"{path}/plan", {"encoding": "cp1252"})
    await work_off(place)
    shown = (await ada.get(path)).text
    assert choices_of(shown) | {"encoding": "cp1252"} == choices_of(shown)
    assert "Windows-1251: &#39;Привет мир! " in shown
    assert "it was read as you chose" in shown
    await ada.post(f"{path}/start", {"encoding": "no-such"})  # is not listed: nothing changes
    assert (await row(place)).options["encoding"] == "cp1252"
    assert "By its letters" not in await text_of(ada, await start_csv(ada))


async def test_shows_columns_of_any_number_and_name(place: WebApp, ada: Browser) -> None:
    names = [f"{number}<b>{'x' * 200}" for number in range(600)]
    names[550] = "Destination URL"
    path = await start_csv(ada, f"{','.join(names)}\n{'https://example.com/,' * 600}".encode()[:-1])
    await work_off(place)
    answer = await ada.get(path)
    assert len(answer.content) < 1 << 20
    assert "<b>" not in answer.text.partition("<main")[2]
    assert "100 further columns without a known name are left out" in answer.text
    assert choices_of(answer.text) == {"column-550": "destination"}
    numbers = re.findall('name="column-([0-9]+)"', answer.text)
    form = {f"column-{number}": "destination" if number == "3" else "" for number in numbers}
    await ada.post(f"{path}/plan", form)
    await work_off(place)
    assert choices_of((await ada.get(path)).text) == {"column-3": "destination"}
    names[7] = "x" * 10_000
    await start_csv(ada, f"{','.join(names)}\n".encode())
    await work_off(place)
    assert max(len(name) for _, name, _ in (await newest_row(place)).plan["table"]["columns"]) == 100


async def test_registers_a_domain_of_the_source_with_its_records(place: WebApp, ada: Browser) -> None:
    path = await start_csv(ada)
    await work_off(place)
    answer = await ada.post(f"{path}/domains", {"register": "go.acme.test", "host-0": "go.acme.test", "domain-0": ""})
    assert answer.headers["location"] == f"{path}#domains"
    shown = await text_of(ada, path)
    assert "Add the TXT record now" in shown
    assert "_waypost.go.acme.test" in shown
    assert "Add go.acme.test" not in shown
    answer = await ada.post(f"{path}/domains", {"register": "localhost", "host-0": "go.acme.test", "domain-0": ""})
    assert answer.status_code == 422
    assert "localhost: " in answer.text
    await ada.post(f"{path}/start", {"host-0": "go.acme.test", "domain-0": "go.acme.test"})
    assert "0 of 1 link imported" in await text_of(ada, path)
    await work_off(place)
    assert "CNAME now" in await text_of(ada, path)
    assert "go.acme.test/one" in (await ada.get("/links")).text


async def test_encrypts_the_token_and_deletes_it_at_the_end(place: WebApp, ada: Browser) -> None:
    with Bitly(bitlink(1), bitlink(2)).running() as url:
        answer = await ada.post("/links/import/bitly", {"token": TOKEN, "url": url})
        path = answer.headers["location"]
        assert TOKEN.encode() not in (await row(place)).token
        await work_off(place)
        assert "bit.ly" in await text_of(ada, path)
        assert "Add bit.ly" not in await text_of(ada, path)
        assert "Links of bit.ly go to go.test. Their old addresses stay at that service" in await text_of(ada, path)
        await ada.post(f"{path}/start", {"ok": "1"})
        await work_off(place)
    assert "The import is done." in await text_of(ada, path)
    assert (await row(place)).token is None
    assert await count_links(place) == 2
    assert ada.account
    async with place.db.read() as tx:
        entries, _ = await audit_store.list_before(tx, ada.account.id, AuditFilter(), None, limit=9)
        makers = set(await tx.scalars(select(links.c.created_by)))
    found = {(entry.action, entry.actor.label, entry.item.name) for entry in entries}
    assert found == {
        ("import.requested", "ada@example.com", "bitly"),
        ("import.started", "ada@example.com", "bitly"),
        ("import.finished", "import", "bitly"),
    }
    assert makers == {"ada@example.com"}
    assert TOKEN not in str(entries)


async def test_an_editor_cannot_take_part_in_an_import_that_needs_an_admin(place: WebApp, ada: Browser) -> None:
    """An archive registers domains."""
    assert ada.account
    eve = await place.member("eve@example.com", ada.account, "editor")
    new = {"file_name": "a.zip", "file_size": "9"}
    path = (await ada.post("/links/import/waypost", new)).json()["url"]
    assert path not in (await eve.get("/links/import")).text
    assert path in (await ada.get("/links/import")).text
    for name in ("", "/give-up", "/refused.csv"):
        assert (await eve.get(path + name)).status_code == 403
    for name in ("pieces?start=0", "plan", "start", "resume", "domains", "give-up"):
        assert (await eve.post(f"{path}/{name}", {"ok": "1"})).status_code == 403, name
    assert (await row(place)).state == "uploading"


async def test_names_who_starts_and_resumes_what_another_requested(place: WebApp, ada: Browser) -> None:
    assert ada.account
    eve, bob = [await place.member(f"{name}@example.com", ada.account, "editor") for name in ("eve", "bob")]
    server = Bitly(*map(bitlink, range(150)))
    with server.running() as url:
        path = (await ada.post("/links/import/bitly", {"token": TOKEN, "url": url})).headers["location"]
        await eve.post(f"{path}/start", {"ok": "1"})  # without a plan
        server.before = lambda _: server.faults.append(USED_UP) if len(server.requests) == 3 else None
        await work_off(place)
        await bob.post(f"{path}/resume", {"ok": "1"})
        await work_off(place)
    async with place.db.read() as tx:
        entries, _ = await audit_store.list_before(tx, ada.account.id, AuditFilter(), None, limit=20)
        makers = dict((await tx.execute(select(links.c.created_by, func.count()).group_by(links.c.created_by))).all())
    found = {(entry.action, entry.actor.label) for entry in entries if entry.action.startswith("import.")}
    assert found == {
        ("import.requested", "ada@example.com"),
        ("import.started", "eve@example.com"),
        ("import.resumed", "bob@example.com"),
        ("import.finished", "import"),
    }
    assert makers == {"eve@example.com": 100, "bob@example.com": 50}


async def test_imports_from_each_service(place: WebApp, ada: Browser) -> None:
    for name, service in SERVICES.items():
        before = await count_links(place)
        with service().running() as url:
            fields = {"token": TOKENS[name], "url": url, "timezone": "UTC"}
            path = (await ada.post(f"/links/import/{name}", fields)).headers["location"]
            await work_off(place)
            assert "Links of" in await text_of(ada, path), name
            await ada.post(f"{path}/start", {"ok": "1"})
            await work_off(place)
        report = await text_of(ada, path)
        assert "The import is done." in report, name
        created = int(re.search(r"Created ([0-9]+)", report)[1])
        assert (await count_links(place) - before, created > 0) == (created, True), name


async def test_imports_an_account_of_another_installation(place: WebApp, ada: Browser, tmp_path: Path) -> None:
    """Each batch is a turn, and every second turn is killed before it could say what it did."""
    await furnish(place.db, tmp_path / "old", await new_person(place.db, "Carl"))
    archive = await exported(place.db, tmp_path / "old", "carl@example.com")
    before = await count_links(place)
    answer = await ada.post("/links/import/waypost", {}, files={"file": ("a.zip", archive, "application/zip")})
    path = answer.headers["location"]
    await work_off(place)
    plan = await text_of(ada, path)
    assert "Plan Links found 6 To create 6 To update 0 Unchanged 0 Refused 0 Aliases 2 Clicks at the source 2" in plan
    assert "Add go.example.com" in plan
    assert "go.test 5 links" in plan
    await ada.post(f"{path}/start", {"host-0": "go.test", "domain-0": ""})
    settle, settled = turns.Turns._settle, 0

    async def killed(self: turns.Turns, *arguments: Any) -> Again | None:
        nonlocal settled
        settled += 1
        if settled % 2:
            raise Unavailable
        return await settle(self, *arguments)

    with (
        mock.patch.object(turn, "TURN", 0.0),
        mock.patch.object(turns.Turns, "_settle", killed),
        mock.patch.object(waypost_source, "_LINKS_AT_ONCE", 2),
        mock.patch.object(parts, "_CLICKS_AT_ONCE", 50),
    ):
        while "The import is done." not in (shown := await text_of(ada, path)):
            assert "Importing" in shown
            assert settled < 60
            place.clock.move(timedelta(minutes=2))
            await work_off(place)
    assert await count_links(place) - before == 6 + 1  # one was deleted
    report = await text_of(ada, path)
    assert "Report Links found 6 Created 6 " in report
    assert "webhooks" not in report
    moved = await exported(place.db, place.settings.data_dir, "ada@example.com")
    mine, theirs = rows(moved), rows(archive)
    assert len(mine["clicks.ndjson"]) == len(theirs["clicks.ndjson"]) > 200
    assert len(mine["qr_styles.ndjson"]) == len(theirs["qr_styles.ndjson"]) == 1
    with_image = links.c.account_id == ada.account.id, links.c.og_image_file_name.is_not(None)
    async with place.db.read() as tx:
        assert (await tx.execute(select(func.count()).where(*with_image))).scalar_one() == 1
    assert [difference async for difference in check(place.db)] == []


async def test_two_imports_of_an_account_wait_for_each_other(place: WebApp, ada: Browser) -> None:
    paths = [await start_csv(ada, CSV.replace(b"one", slug)) for slug in (b"one", b"two")]
    for path in paths:
        await ada.post(f"{path}/start", {"ok": "1"})
        assert "0 links imported" in await text_of(ada, path)  # without a plan
    for _ in range(2):
        await work_off(place)
        place.clock.move(timedelta(minutes=1))
    assert await count_links(place) == 2
    for path in paths:
        assert "The import is done." in await text_of(ada, path)


@pytest.mark.parametrize(("content", "message"), [(b"hello", "not a complete ZIP file"), (b"", "This file is empty")])
async def test_says_what_is_wrong_with_an_archive(place: WebApp, ada: Browser, content: bytes, message: str) -> None:
    answer = await ada.post("/links/import/waypost", {}, files={"file": ("a.zip", content, "application/zip")})
    if content:
        await work_off(place)
        answer = await ada.get(answer.headers["location"])
    assert message in answer.text
    assert "a.zip" in answer.text or not content


async def test_a_wrong_token_is_said_before_anything_is_imported(place: WebApp, ada: Browser) -> None:
    with Bitly(bitlink(1)).running() as url:
        path = (await ada.post("/links/import/bitly", {"token": "wrong", "url": url})).headers["location"]
        await work_off(place)
    assert "refuses the token" in await text_of(ada, path)
    assert (await row(place)).state == "plan_stopped"


async def test_continues_after_a_quota_was_used_up(place: WebApp, ada: Browser) -> None:
    server = Bitly(*map(bitlink, range(150)))
    with server.running() as url:
        path = (await ada.post("/links/import/bitly", {"token": TOKEN, "url": url})).headers["location"]
        await ada.post(f"{path}/start", {"ok": "1"})  # without a plan
        server.before = lambda _: server.faults.append(USED_UP) if len(server.requests) == 3 else None
        await work_off(place)
        stopped = await text_of(ada, path)
        assert "The import has stopped" in stopped
        assert "quota" in stopped
        assert await count_links(place) == 100
        await ada.post(f"{path}/resume", {"ok": "1"})
        await work_off(place)
    assert "The import is done." in await text_of(ada, path)
    assert await count_links(place) == 150


async def test_doctor_reports_the_state_that_the_page_shows(place: WebApp, ada: Browser) -> None:
    server = Bitly(*map(bitlink, range(150)))
    with server.running() as url:
        path = (await ada.post("/links/import/bitly", {"token": TOKEN, "url": url})).headers["location"]
        await ada.post(f"{path}/start", {"ok": "1"})
        server.before = lambda _: server.faults.append(USED_UP) if len(server.requests) == 3 else None
        await work_off(place)
        stopped = await row(place)
        assert await stopped_imports(place) == [stopped.message]
        await ada.post(f"{path}/resume", {"ok": "1"})
        assert await stopped_imports(place) == []
        server.faults.append(USED_UP)
        await work_off(place)
        assert await stopped_imports(place) == [stopped.message]
        await ada.post(f"{path}/give-up")
    assert await stopped_imports(place) == []


async def test_a_command_continues_and_finishes_what_the_page_shows(place: WebApp, ada: Browser) -> None:
    server = Bitly(*map(bitlink, range(150)))
    with server.running() as url, new_turn(place) as of_process:
        path = (await ada.post("/links/import/bitly", {"token": TOKEN, "url": url})).headers["location"]
        await ada.post(f"{path}/start", {"ok": "1"})
        server.before = lambda _: server.faults.append(USED_UP) if len(server.requests) == 3 else None
        await work_off(place)
        stopped = await row(place)
        actor = Actor.command(stopped.account_id, "waypost import")
        bitly = open_source("bitly", SourceOptions(url=url, token=TOKEN), of_process.outbound, _never_wait)

        async def continued() -> ImportRun:
            import_ = await import_service.create(of_process.deps, actor, "bitly", stopped.options)
            assert import_.id == stopped.id
            run = ImportRun(of_process.deps, bitly, import_, "elsewhere:1:1")
            await run.start()
            return run

        await (await continued()).stop(SourceError("The source cannot be reached."))
        assert await stopped_imports(place) == ["The source cannot be reached."]
        assert "The source cannot be reached." in await text_of(ada, path)
        run = await continued()
        await work_off(place)  # a turn finds that the command runs it
        assert "Importing" in await text_of(ada, path)
        while await run.step():
            pass
        await run.stop()
        place.clock.move(timedelta(minutes=1))
        await work_off(place)
    assert "The import is done. The command waypost import finished it." in await text_of(ada, path)
    assert (await row(place)).token is None
    assert await count_links(place) == 150


async def _never_wait(_seconds: float, _reason: str) -> None:
    raise AssertionError


async def test_doctor_reports_an_import_whose_file_is_gone(place: WebApp, ada: Browser) -> None:
    """It stops before it has read anything in this turn."""
    path = await start_csv(ada)
    await work_off(place)
    await ada.post(f"{path}/start", {})
    await new_uploads(place.db, place.settings.data_dir).delete(UUID(path.rpartition("/")[2]))
    await work_off(place)
    [reason] = await stopped_imports(place)
    assert reason.startswith("The file is not on the server any more.")


async def test_doctor_reports_no_import_whose_turn_is_repeated(place: WebApp, ada: Browser) -> None:
    assert ada.account
    path = await start_csv(ada)
    await work_off(place)
    await ada.post(f"{path}/start", {})

    class Failing(DestinationChecker):
        def __init__(self) -> None:
            super().__init__(Outbound(), UrlSafety())

        async def check_ip(self, url: Url) -> None:
            place.clock.move(timedelta(seconds=1))
            raise Unavailable

    with new_turn(place) as of_process:
        async with place.db.read() as tx:
            request = await import_store.get(tx, ada.account.id, UUID(path.rpartition("/")[2]))
        outcome = await replace(of_process, deps=replace(of_process.deps, destination_checker=Failing())).run(request)
    assert (outcome.state, outcome.failures) == ("running", 1)
    assert await stopped_imports(place) == []
    await work_off(place)
    assert "The import is done." in await text_of(ada, path)


async def test_a_source_that_asks_to_wait_gives_the_turn_back(place: WebApp, ada: Browser) -> None:
    server = Bitly(bitlink(1))
    server.faults.extend([TOO_MANY])
    with server.running() as url, mock.patch.object(turn, "LONGEST_SLEEP", 1.0):
        path = (await ada.post("/links/import/bitly", {"token": TOKEN, "url": url})).headers["location"]
        await work_off(place)
        assert "Waiting:" in await text_of(ada, path)
        place.clock.move(timedelta(seconds=10))
        await work_off(place)
        assert "Plan Links found 1" in await text_of(ada, path)


async def test_long_imports_of_one_account_do_not_hold_back_another(place: WebApp, ada: Browser) -> None:
    """Each page is a turn, and turns rotate."""
    server, bob = Bitly(*map(bitlink, range(500))), await place.browser("bob@example.com")
    with server.running() as url, mock.patch.object(turn, "TURN", 0.0):
        paths = []
        for browser in (ada, bob):
            paths.append((await browser.post("/links/import/bitly", {"token": TOKEN, "url": url})).headers["location"])
            await browser.post(f"{paths[-1]}/start", {"ok": "1"})
        await work_off(place)
    async with place.db.read() as tx:
        waiting = select(func.count()).select_from(jobs).where(jobs.c.name == TURN_JOB.name)
        assert (await tx.execute(waiting)).scalar_one() == 0
    assert "The import is done." in await text_of(ada, paths[0])
    assert "The import is done." in await text_of(bob, paths[1])


async def test_gives_up_and_deletes_token_and_file(place: WebApp, ada: Browser) -> None:
    path = await start_csv(ada)
    assert "Give up this import?" in (await ada.get(f"{path}/give-up")).text
    await ada.post(f"{path}/give-up")
    assert "You gave up this import" in await text_of(ada, path)
    await work_off(place)
    assert not await new_uploads(place.db, place.settings.data_dir).list_ids()
    assert (await row(place)).state == "given_up"


async def test_an_import_that_is_done_by_now_is_not_given_up(place: WebApp, ada: Browser) -> None:
    assert ada.account
    path = await start_csv(ada)
    await work_off(place)
    await ada.post(f"{path}/start", {})
    context = new_context(place.settings, place.db, lambda _: None, place.clock)
    web_deps = request_service.Deps(**vars(context), uploads=new_uploads(place.db, place.settings.data_dir))
    async with place.db.read() as tx:
        running = await import_store.get(tx, ada.account.id, UUID(path.rpartition("/")[2]))
    session = await sessions.find(place.db, ada.client.cookies["waypost"], now=place.clock())
    await work_off(place)
    assert isinstance(session, sessions.Session)
    await request_service.give_up(web_deps, session, running)
    assert (await row(place)).state == "done"


async def test_an_import_that_has_begun_keeps_its_domains(place: WebApp, ada: Browser) -> None:
    path = await start_csv(ada)
    await work_off(place)
    await ada.post(f"{path}/start", {"host-0": "go.acme.test", "domain-0": ""})
    await ada.post(f"{path}/domains", {"register": "go.acme.test"})  # of a page that was opened before
    assert (await row(place)).options["domains"] == {"go.acme.test": ""}


async def test_lists_refused_rows_and_escapes_formulas(place: WebApp, ada: Browser) -> None:
    content = CSV + b'ftp://example.com,"https://go.acme.test/=cmd|x",Two\r\n'
    path = await start_csv(ada, content)
    await work_off(place)
    assert "Refused 1" in await text_of(ada, path)
    answer = await ada.get(f"{path}/refused.csv")
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert rows[0] == ["source_id", "reason"]
    assert len(rows) == 2
    assert not rows[1][0].startswith("=")


async def test_a_large_file_arrives_in_pieces(place: WebApp, ada: Browser) -> None:
    content = CSV + b"".join(b"https://example.com/%d,https://go.acme.test/n%d,N\r\n" % (n, n) for n in range(30_000))
    answer = await ada.post("/links/import/csv", {"file_name": "links.csv", "file_size": str(len(content))})
    assert answer.status_code == 201
    path, size = answer.json()["url"], answer.json()["piece_size"]
    pieces = {start: content[start : start + size] for start in range(0, len(content), size)}
    assert len(pieces) > 1
    late = max(pieces)
    for start in (late, 0, 0, *pieces):  # too early, in time, repeated, and in order
        answer = await ada.client.post(
            f"{path}/pieces?start={start}", content=pieces[start], headers={"Sec-Fetch-Site": "same-origin"}
        )
        assert answer.status_code == 200, answer.text
    assert answer.json()["size"] == len(content)
    uploads = new_uploads(place.db, place.settings.data_dir)
    assert (await uploads.find(UUID(path.rpartition("/")[2]))).read_bytes() == content
    assert "Reading links" in await text_of(ada, path)


async def test_refuses_what_cannot_be_imported(ada: Browser) -> None:
    post = ada.post
    assert "Enter the Access token" in (await post("/links/import/bitly", {"token": ""})).text
    assert "Choose a file" in (await post("/links/import/csv", {"url": ""})).text
    assert "Enter the URL of your server" in (await post("/links/import/shlink", {"token": "x"})).text
    too_large = await post("/links/import/csv", {"file_name": "x.csv", "file_size": str(1 << 40)})
    assert "has more than 256 MiB" in too_large.text
    await ada.post("/account/timezone", {"timezone": "Asia/Tokyo"})
    assert 'name="timezone" type="text" value="Asia/Tokyo"' in (await ada.get("/links/import/csv")).text
    assert "This is not a time zone" in (await post("/links/import/csv", {"timezone": "Mars"})).text
    assert (await ada.get("/links/import/unknown")).status_code == 404
    assert (await ada.get(f"/links/imports/{uuid4()}")).status_code == 404
    for _ in range(2):
        await post("/links/import/csv", {"file_name": "x.csv", "file_size": str(200 << 20)})
    large = await post("/links/import/csv", {"file_name": "x.csv", "file_size": str(200 << 20)})
    assert "more than 512 MiB together" in large.text
    for _ in range(3):
        await start_csv(ada)
    assert "You have 5 imports that have not ended" in (await post("/links/import/bitly", {"token": "x"})).text


async def test_a_form_of_an_earlier_plan_maps_the_domains_it_showed(place: WebApp, ada: Browser) -> None:
    path = await start_csv(ada, CSV + b"https://example.com/2,https://a.acme.test/two,Two\r\n")
    await work_off(place)
    late = {"host-0": "gone.acme.test", "domain-0": "x.test", "host-1": "go.acme.test", "domain-1": "go.test"}
    await ada.post(f"{path}/start", late)
    assert (await row(place)).options["domains"] == {"go.acme.test": "go.test"}


async def test_a_file_with_hostile_texts_is_planned_and_imported(place: WebApp, ada: Browser) -> None:
    hosts = "\0", "x" * 3_000, "a\nb", "\u202ego.acme.test"
    rows = "".join(f'https://example.com/1,"{host}",slug{number}\n' for number, host in enumerate(hosts))
    content = f"url,domain,slug,\0,{'y' * 3_000}\n{rows}".encode()
    answer = await ada.post("/links/import/csv", files={"file": ("\0\u202e.csv", content, "text/csv")})
    path = answer.headers["location"]
    await work_off(place)
    assert "To create 4" in await text_of(ada, path)
    await ada.post(f"{path}/start", {"host-0": "\0", "domain-0": "\0"})
    await work_off(place)
    assert "Created 4" in await text_of(ada, path)
    assert len((await ada.get(path)).text) < 30_000


async def test_names_the_file_that_cannot_be_read(place: WebApp, ada: Browser) -> None:
    path = await start_csv(ada, b"a,b\n1,2\n")
    await work_off(place)
    assert "links.csv has no column with destinations" in await text_of(ada, path)


async def test_says_that_a_file_is_gone_after_a_restore(place: WebApp, ada: Browser) -> None:
    path = await start_csv(ada)
    await new_uploads(place.db, place.settings.data_dir).delete(UUID(path.rpartition("/")[2]))
    await work_off(place)
    assert "The file is not on the server any more. Give up this import" in await text_of(ada, path)


async def test_nobody_else_sees_an_import(place: WebApp, ada: Browser) -> None:
    path, eve = await start_csv(ada), await place.browser("eve@example.com")
    for answer in (
        await eve.get(path),
        await eve.get(f"{path}/refused.csv"),
        await eve.post(f"{path}/start", {"ok": "1"}),
        await eve.post(f"{path}/give-up"),
        await eve.post(f"{path}/pieces?start=0"),
    ):
        assert answer.status_code == 404


async def test_gives_up_what_nobody_continues(place: WebApp, ada: Browser) -> None:
    await start_csv(ada)
    await work_off(place)
    uploads = new_uploads(place.db, place.settings.data_dir)
    await give_up_unused(place.db, uploads, clock=place.clock)
    assert (await row(place)).state == "planned"
    place.clock.move(timedelta(days=8))
    await give_up_unused(place.db, uploads, clock=place.clock)
    assert (await row(place)).state == "given_up"
    assert not await uploads.list_ids()


async def test_deletes_and_exports_the_imports_of_an_account(place: WebApp, ada: Browser) -> None:
    assert ada.account
    await start_csv(ada)
    context = new_context(place.settings, place.db, lambda _: None)
    [[exported]] = [rows async for rows in account_data.read_imports(context, ada.account.id)]
    assert exported["file_name"] == "links.csv"
    assert [None async for _ in delete_rows(context, ada.account.id, imports)] == [None]
    uploads = new_uploads(place.db, place.settings.data_dir)
    await give_up_unused(place.db, uploads, clock=place.clock)
    assert not await uploads.list_ids()
    async with place.db.read() as tx:
        for table in (imports, import_file_pieces):
            assert not (await tx.execute(select(func.count()).select_from(table))).scalar_one()


async def test_continues_after_the_worker_was_killed(place: WebApp, ada: Browser) -> None:
    """A killed turn leaves its job claimed, its pages stored and its outcome unsaved."""
    server = Bitly(*map(bitlink, range(250)))
    with server.running() as url:
        path = (await ada.post("/links/import/bitly", {"token": TOKEN, "url": url})).headers["location"]
        await ada.post(f"{path}/start", {"ok": "1"})
        with mock.patch.object(turns.Turns, "_settle", side_effect=Unavailable), mock.patch.object(turn, "TURN", 0.0):
            await work_off(place)
        assert await count_links(place) == 100
        assert (await row(place)).state == "running"
        place.clock.move(timedelta(minutes=2))
        await work_off(place)
    assert await count_links(place) == 250
    assert "Report Links found 250 Created 250" in await text_of(ada, path)


async def test_a_worker_that_is_killed_after_a_turn_doubles_no_job(place: WebApp, ada: Browser) -> None:
    """The turn's outcome is stored, and its job is still claimed."""
    path = await start_csv(ada)
    outcomes = [Outcome("planning", delay=timedelta(seconds=9)), Outcome("plan_stopped")]

    async def run(_: Import) -> Outcome:
        return outcomes.pop(0)

    handler = turns.Turns(place.db, new_uploads(place.db, place.settings.data_dir), place.clock, run)
    runner = JobRunner(LONG, {TURN_JOB: handler}, clock=place.clock)
    while outcomes:
        async with place.db.write() as tx:
            [job] = await runner.claim(tx, LONG.slots)
        await runner.run(job)
        place.clock.move(LONG.lease)
    assert (await row(place)).state == "plan_stopped"
    await ada.post(f"{path}/resume", {})
    assert (await row(place)).state == "planning"
    async with place.db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(jobs)) == 1
    await work_off(place)
    assert "To create 1" in await text_of(ada, path)


async def test_asks_for_the_url_of_kutt_which_has_no_vendor(ada: Browser) -> None:
    answer = await ada.post("/links/import/kutt", {"token": TOKEN, "url": ""})
    assert "Enter the URL of your server." in answer.text


async def test_shows_some_differences_and_folds_the_others(place: WebApp, ada: Browser) -> None:
    path = await start_csv(ada)
    await work_off(place)
    async with place.db.write() as tx:
        plan = {**(await row(place)).plan, "warnings": [[f"Loss {number}", 1, ""] for number in range(25)]}
        await tx.execute(update(imports).values(plan=plan))
    main = (await ada.get(path)).text
    assert main.index("Loss 19") < main.index("<details><summary>5 more</summary>") < main.index("Loss 20")
