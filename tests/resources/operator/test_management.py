"""Operators create and invite accounts, change plans, create sign-in links, and see the service."""

import re
from datetime import timedelta
from html import unescape

from browsing import Browser, WebApp
from contexts import new_context
from resources.operator.test_pages import operator

from waypost import accounts
from waypost.accounts import operators
from waypost.accounts.account_list import AccountFilter, list_page
from waypost.accounts.sign_in.passkeys import passkeys
from waypost.audit import store as audit_store
from waypost.context import Context
from waypost.installation import Finding
from waypost.kit.ids import new_id
from waypost.resources.operator import diagnosis, totals
from waypost.resources.operator.model import ServiceReport, find_report, save_report
from waypost.version import VERSION, commit
from waypost.worker import jobs


async def root_of(place: WebApp) -> Browser:
    root = await operator(place)
    place.clock.move(timedelta(seconds=1))
    await place.authenticate_all()
    return root


async def actions(place: WebApp, email: str) -> list[tuple[str, str]]:
    account = await accounts.get_account(place.db, email)
    async with place.db.read() as tx:
        entries, _ = await audit_store.list_before(tx, account.id, audit_store.AuditFilter(), None, limit=9)
    return [(entry.action, entry.actor.type) for entry in entries]


def shown_link(page: str) -> str:
    [url] = re.findall(r'data-copy="([^"]+)"', page)
    return unescape(url)


async def test_creates_an_account_and_a_sign_in_link(place: WebApp) -> None:
    root = await root_of(place)
    wrong = await root.post("/operator/accounts/new", {"email": "nobody", "plan": "lifetime"})
    assert (wrong.status_code, "nobody" in wrong.text) == (422, True)
    assert (await root.post("/operator/accounts/new", {"email": "new@example.com", "plan": "gold"})).status_code == 422
    made = await root.post("/operator/accounts/new", {"email": " New@Example.com ", "plan": "lifetime"})
    assert made.status_code == 303, made.text
    page = made.headers["location"].partition("?")[0]
    account = await accounts.get_account(place.db, "new@example.com")
    assert (account.plan.type, account.name, page) == ("lifetime", "New", f"/operator/accounts/{account.id}")
    assert "Create sign-in link" in (await root.get(page)).text
    again = await root.post("/operator/accounts/new", {"email": "new@example.com", "plan": "lifetime"})
    assert (again.status_code, "already exists" in again.text) == (422, True)
    refused = await root.post(f"{page}/sign-in-link", {"email": "root@example.com"})
    assert (refused.status_code, "member of the account" in refused.text) == (422, True)
    link = shown_link((await root.post(f"{page}/sign-in-link", {"email": "new@example.com"})).text)
    assert "/enter/" in link
    assert sorted(await actions(place, "new@example.com")) == [
        ("account.created", "operator"),
        ("sign_in_link.created", "operator"),
    ]
    assert "Create account" in (await root.get("/operator/accounts/new")).text


async def test_a_sign_in_link_is_for_no_operator_and_makes_no_other(place: WebApp) -> None:
    root, ada = await root_of(place), await place.browser("ada@example.com")
    assert root.account
    assert ada.account
    await place.member("eve@example.com", ada.account, "viewer")
    await operators.set_operator(place.db, "ada@example.com", place.clock(), is_operator=True)
    for account, email in ((ada.account, "ada@example.com"), (root.account, "root@example.com")):
        page = f"/operator/accounts/{account.id}/sign-in-link"
        assert f'value="{email}"' not in (await root.get(page)).text
        refused = await root.post(page, {"email": email})
        assert (refused.status_code, "waypost account sign-in-link" in refused.text) == (422, True)
    page = f"/operator/accounts/{ada.account.id}/sign-in-link"
    assert (await root.post(page, {"email": "eve@example.com"})).status_code == 200

    # ada's session is as new as one by a link: it may create accounts, but no link
    made = await ada.post("/operator/accounts/new", {"email": "new@example.com", "plan": "lifetime"})
    assert made.status_code == 303, made.text
    assert f"/account/verify?next={page}" in (await ada.get(page)).text
    assert (await ada.post(page, {"email": "eve@example.com"})).status_code == 422
    assert (await ada.get(f"/account/verify?next={page}")).status_code == 200, "it leads there"
    place.clock.move(timedelta(seconds=1))
    await place.authenticate_all()
    assert (await ada.get(f"/account/verify?next={page}")).headers["location"] == page
    assert (await ada.post(page, {"email": "eve@example.com"})).status_code == 200


async def test_who_has_a_passkey_confirms_with_it(place: WebApp) -> None:
    root = await root_of(place)
    assert root.account
    async with place.db.write() as tx:
        row = {"id": new_id(), "person_id": root.person.id, "credential_id": b"mine", "public_key": b"", "uses": 0}
        await tx.execute(passkeys.insert(), row | {"name": "phone", "created_at": place.clock()})
    page = f"/operator/accounts/{root.account.id}"
    for path, fields in (
        ("/operator/accounts/new", {"email": "new@example.com", "plan": "lifetime"}),
        ("/operator/invite", {"email": "eve@example.com"}),
        (f"{page}/plan", {"plan": "none"}),
        (f"{page}/sign-in-link", {"email": "eve@example.com"}),
    ):
        refused = await root.post(path, fields)
        assert (refused.status_code, "password is not enough" in refused.text) == (422, True), path


async def test_changes_plans(place: WebApp) -> None:
    root, ada = await root_of(place), await place.browser("ada@example.com", plan="none")
    assert ada.account
    page = f"/operator/accounts/{ada.account.id}"
    await root.post("/account/timezone", {"timezone": "Asia/Tokyo"})
    last = place.clock() + timedelta(days=40)
    day = f"{last:%Y-%m-%d}"
    for plan, after in (("trial", f"trial until {last:%-d %b %Y}"), ("lifetime", "lifetime")):
        before = (await accounts.get_account(place.db, "ada@example.com")).plan
        fields = {"plan": plan, "trial_ends_at": day}
        asked = (await root.post(f"{page}/plan", fields)).text
        assert f"The plan is now: {before.type}" in asked
        assert f"It will be: {after}." in asked
        assert (await accounts.get_account(place.db, "ada@example.com")).plan == before
        answer = await root.post(f"{page}/plan", fields | {"confirmed": after})
        assert answer.status_code == 303, answer.text
        stored = (await accounts.get_account(place.db, "ada@example.com")).plan
        assert (stored.type, stored.trial_ends_at is None) == (plan, plan == "lifetime")
        if stored.trial_ends_at:
            assert f"{stored.trial_ends_at:%Y-%m-%d %H}" == f"{day} 14"
    yesterday = (place.clock() - timedelta(days=1)).strftime("%Y-%m-%d")
    for wrong, reason in (("soon", "must be a day"), (yesterday, "choose the plan none"), ("2206-01-01", "ten years")):
        refused = await root.post(f"{page}/plan", {"plan": "trial", "trial_ends_at": wrong})
        assert (refused.status_code, reason in refused.text) == (422, True)
    assert await actions(place, "ada@example.com") == [("plan.updated", "operator")] * 2
    assert "lifetime" in (await root.get(page)).text


async def test_invites(place: WebApp) -> None:
    root = await root_of(place)
    page = await root.post("/operator/invite", {"email": "eve@example.com"})
    assert "/invite/" in shown_link(page.text)
    assert "WAYPOST_SMTP_URL is not set" in page.text
    assert (await root.post("/operator/invite", {"email": "root@example.com"})).status_code == 422


async def test_asks_who_is_there(place: WebApp) -> None:
    root = await root_of(place)
    assert root.account
    place.clock.move(timedelta(hours=1))
    page = f"/operator/accounts/{root.account.id}"
    for path, fields in (
        ("/operator/accounts/new", {"email": "new@example.com", "plan": "lifetime"}),
        ("/operator/invite", {"email": "eve@example.com"}),
        (f"{page}/plan", {"plan": "none"}),
        (f"{page}/sign-in-link", {"email": "root@example.com"}),
    ):
        assert (await root.post(path, fields)).status_code == 422, path
    async with place.db.read() as tx:
        assert len(await list_page(tx, AccountFilter(), "newest", None, 9)) == 1


async def test_shows_the_service(place: WebApp) -> None:
    root = await root_of(place)
    page = (await root.get("/operator/service")).text
    assert "These are the checks of a start" in page
    assert f'{VERSION} <span class="muted small">{commit()}</span>' in page
    assert "counts once an hour" in page
    assert "Everyone can create an account at" in page
    assert (await root.post("/operator/service/diagnose")).status_code == 303
    assert (await root.post("/operator/service/diagnose")).status_code == 303
    assert "The checks run" in (await root.get("/operator/service")).text
    async with place.db.read() as tx:
        assert (await jobs.read_backlog(tx, place.clock())).pending == 1
    context = root_context(place)
    await totals.renew(context)
    found = [Finding("spool", "ok", "empty"), Finding("clock", "failed", "<5 s> behind", "Synchronize it.")]
    found += [Finding("backup", "failed", "as it was then"), Finding("DNS", "ok", "one address", "Add another.")]
    async with place.db.write() as tx:
        content = [vars(finding) for finding in found]
        await save_report(tx, "diagnosis", ServiceReport("node-1", place.clock(), content))
    page = (await root.get("/operator/service")).text
    assert "&lt;5 s&gt; behind" in page
    order = ("&lt;5 s&gt;", "Before others use it", "Add another.", "Show what passed (", ">empty<")
    assert [page.index(each) for each in order] == sorted(page.index(each) for each in order), "problems first"
    assert ("as it was then" in page, "outdated" in page) == (False, False)
    assert "node-1" in page
    assert page.count('class="growth"') == 3
    place.clock.move(timedelta(days=1, seconds=1))
    assert "outdated" in (await root.get("/operator/service")).text


def root_context(place: WebApp) -> Context:
    return new_context(place.db, clock=place.clock)


async def test_counts_once_an_hour(place: WebApp) -> None:
    await root_of(place)
    context = root_context(place)

    async def counted() -> ServiceReport:
        await totals.renew(context)
        async with place.db.read() as tx:
            report = await find_report(tx, "totals")
        assert report
        return report

    first = await counted()
    place.clock.move(timedelta(minutes=59))
    assert (await counted()).at == first.at
    place.clock.move(timedelta(minutes=1))
    assert (await counted()).at == place.clock()
    assert (len(first.content["links"]), len(first.content["clicks"])) == (30, 30)


async def test_runs_the_command(place: WebApp) -> None:
    findings = await diagnosis._run_doctor()
    assert {"settings", "DNS"} <= {finding["check"] for finding in findings}
