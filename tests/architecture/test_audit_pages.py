"""Each form of the dashboard that changes something leaves one entry in the audit log, and none if it is refused."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

import httpx
import pytest
from accounts.second_factors import sealed_of, secret_of
from architecture import member_forms
from architecture.facts import SCOPES
from architecture.running import LOGO, PIXEL, RECEIVER, RunningApp
from architecture.test_audit import APP_LINKS, entries_of
from browsing import SAME_ORIGIN
from sqlalchemy import update

from waypost.accounts import Person, operators
from waypost.accounts.auth_deps import new_deps
from waypost.accounts.members import store as memberships
from waypost.accounts.people import store as people
from waypost.accounts.people.tokens import issue
from waypost.accounts.second_factor import totp
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sign_in.passkeys import passkeys
from waypost.accounts.sign_in.service import create_sign_in_link
from waypost.resources.links.bulk import changes as bulk_changes
from waypost.settings import Settings

PASSWORD = "four plain words suffice"
REASON = {"reason": "Phishing"}


@dataclass
class Signed:
    """A person who is signed in to an account of their own."""

    running: RunningApp
    client: httpx.AsyncClient
    account: UUID
    person: UUID
    email: str
    key: str

    async def post(self, path: str, /, **fields: Any) -> httpx.Response:
        headers = SAME_ORIGIN | {"Content-Type": "application/x-www-form-urlencoded"}
        return await self.client.post(path, content=urlencode(fields, doseq=True), headers=headers)

    async def link(self) -> str:
        link: str = (await self.running.link(self.key))["id"]
        return link

    async def domain(self) -> str:
        domain: str = (await self.running.domain(self.key))["id"]
        return domain

    async def url_of(self, response: httpx.Response) -> str:
        assert response.status_code == 303, response.text
        return response.headers["location"]


Recipe = Callable[[Signed, str], Awaitable[Callable[[], Awaitable[httpx.Response]]]]
"""Prepares what the form changes, and returns what sends it."""


def form(fields: Mapping[str, Any] | None = None) -> Recipe:
    async def prepare(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
        return lambda: signed.post(path, **(fields or {}))

    return prepare


def form_of(find: Callable[[Signed], Awaitable[str]], fields: Mapping[str, Any] | None = None) -> Recipe:
    """A form of what `find` makes."""

    async def prepare(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
        own = path.replace("{id}", await find(signed))
        return lambda: signed.post(own, **(fields or {}))

    return prepare


def form_of_operator(find: Callable[[Signed], Awaitable[str]], fields: Mapping[str, Any] | None = None) -> Recipe:
    async def prepare(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
        await operators.set_operator(signed.running.db, signed.email, datetime.now(UTC), is_operator=True)
        return await form_of(find, fields)(signed, path)

    return prepare


async def prepare_link_for_member(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    """Links are for no operator, and asked of who has confirmed it's them since the sign-in."""
    member = f"{uuid4().hex}@example.com"
    async with signed.running.db.write() as tx:
        person = Person(uuid4(), member, "Member", None, False, datetime.now(UTC), datetime.now(UTC))
        await people.add(tx, person, None)
        await memberships.add(tx, signed.account, person.id, "viewer", datetime.now(UTC))
        await tx.execute(update(sessions.sessions).values(authenticated_at=datetime.now(UTC)))
    return await form_of_operator(own_account, {"email": member})(signed, path)


async def own_account(signed: Signed) -> str:
    return str(signed.account)


async def suspended_account(signed: Signed) -> str:
    await signed.url_of(await signed.post(f"/operator/accounts/{signed.account}/suspend", **REASON))
    return str(signed.account)


async def disabled_link(signed: Signed) -> str:
    link = await signed.link()
    await signed.url_of(await signed.post(f"/operator/links/{link}/disable", **REASON))
    return link


async def new_tag(signed: Signed) -> str:
    return str((await signed.running.tag(signed.key))["id"])


async def new_pixel(signed: Signed) -> str:
    pixel: str = (await signed.running.pixel(signed.key))["id"]
    return pixel


async def new_pixel_with_token(signed: Signed) -> str:
    pixel = await new_pixel(signed)
    assert (await signed.post(f"/pixels/{pixel}", name="A pixel", access_token="EAAB")).status_code == 303
    return pixel


async def new_utm_template(signed: Signed) -> str:
    template: str = (await signed.running.utm_template(signed.key))["id"]
    return template


async def new_share(signed: Signed) -> str:
    share: str = (await signed.running.share(signed.key))["id"]
    return share


async def new_webhook(signed: Signed) -> str:
    webhook: str = (await signed.running.webhook(signed.key))[0]["id"]
    return webhook


async def new_import(signed: Signed) -> str:
    response = await signed.post("/links/import/dub", token="a-token", url="https://dub.example.com")
    return (await signed.url_of(response)).rpartition("/")[2]


async def new_passkey(signed: Signed) -> str:
    row = {"id": uuid4(), "person_id": signed.person, "credential_id": uuid4().bytes, "public_key": b"2", "uses": 0}
    of_person = sessions.sessions.c.person_id == signed.person
    async with signed.running.db.write() as tx:
        await tx.execute(passkeys.insert(), row | {"name": "phone", "created_at": datetime.now(UTC)})
        await tx.execute(sessions.sessions.update().where(of_person).values(passkey_id=row["id"]))
    return str(row["id"])


async def new_key(signed: Signed) -> str:
    response = await signed.client.get("/integrations/api")
    return response.text.partition("/integrations/api/")[2].partition("/revoke")[0].rpartition("/")[2]


async def deleted_links(signed: Signed) -> str:
    response = await signed.post("/links/bulk", action="delete", **{"ids[]": await signed.link()})
    return (await signed.url_of(response)).rpartition("/")[2]


async def running_change(signed: Signed) -> str:
    """A change of more links than are changed at once: no worker runs here."""
    for _ in range(2):
        await signed.link()
    limit, bulk_changes.MAX_NOW = bulk_changes.MAX_NOW, 0
    try:
        response = await signed.post("/links/bulk", action="set", all="1", **{"set[add_tags]": "new"})
    finally:
        bulk_changes.MAX_NOW = limit
    return (await signed.url_of(response)).rpartition("/")[2]


async def one_time_link(signed: Signed, kind: Any, **values: Any) -> str:
    async with signed.running.db.write() as tx:
        return await issue(tx, kind, now=datetime.now(UTC), person_id=signed.person, **values)


async def prepare_sign_in_link(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    token = await one_time_link(signed, "sign_in")
    signed.client.cookies.clear()
    return lambda: signed.post(path.replace("{token}", token))


async def prepare_new_email(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    token = await one_time_link(signed, "change_email", email=f"{uuid4()}@example.com")
    return lambda: signed.post(path.replace("{token}", token))


async def prepare_login(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    assert (await signed.post("/account/password", password=PASSWORD)).status_code == 303
    signed.client.cookies.clear()
    return lambda: signed.post(path, email=signed.email, password=PASSWORD)


async def set_up_second_factor(signed: Signed) -> str:
    """Return the secret."""
    page = (await signed.post("/account/two-factor")).text
    secret = secret_of(page)
    code = totp.code_of(secret, totp.step_at(datetime.now(UTC)))
    done = await signed.post("/account/two-factor/confirm", setup=sealed_of(page), code=code)
    assert done.status_code == 200, done.text
    return secret


def with_second_factor(fields: Mapping[str, Any] | None = None) -> Recipe:
    async def prepare(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
        await set_up_second_factor(signed)
        return lambda: signed.post(path, **(fields or {}))

    return prepare


async def prepare_second_factor(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    page = (await signed.post("/account/two-factor")).text
    code = totp.code_of(secret_of(page), totp.step_at(datetime.now(UTC)))
    return lambda: signed.post(path, setup=sealed_of(page), code=code)


async def prepare_code(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    assert (await signed.post("/account/password", password=PASSWORD)).status_code == 303
    secret = await set_up_second_factor(signed)
    signed.client.cookies.clear()
    assert (await signed.post("/login", email=signed.email, password=PASSWORD)).status_code == 303
    return lambda: signed.post(path, code=totp.code_of(secret, totp.step_at(datetime.now(UTC)) + 1))


async def prepare_alias(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    await signed.domain()
    link = await signed.link()
    own = path.replace("{id}", link)
    if "{alias_id}" in own:
        own = own.replace("{alias_id}", await signed.running.alias(signed.key, link))
    return lambda: signed.post(own, hostname=signed.running.latest_hostname, path="sale")


async def prepare_alias_of_named(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    await signed.domain()
    link = (await signed.running.link(signed.key))["short_url"]
    return lambda: signed.post(path, hostname=signed.running.latest_hostname, path="sale", link=link)


async def prepare_logo(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    domain = await signed.domain()
    link = await signed.running.link(signed.key, hostname=signed.running.latest_hostname)
    if path.endswith("/delete"):
        await signed.running.logo(signed.key, f"/v1/domains/{domain}/logo" if "domain" in path else "/v1/qrcodes/logo")
    return lambda: signed.client.post(path.replace("{id}", link["id"]), files=LOGO, headers=SAME_ORIGIN)


async def prepare_redelivery(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    webhook, delivery = await signed.running.webhook(signed.key)
    return lambda: signed.post(path.replace("{id}", webhook["id"]).replace("{delivery}", delivery["id"]))


async def prepare_new_domain(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    return lambda: signed.post(path, hostname=signed.running.hostname())


async def prepare_domain_of_import(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    own = path.replace("{id}", await new_import(signed))
    return lambda: signed.post(own, register=signed.running.hostname())


async def prepare_new_link(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    return lambda: signed.post(path, destination_url=signed.running.website.url)


async def prepare_changed_link(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    link = await signed.running.link(signed.key)
    fields = {"destination_url": link["destination_url"], "slug": link["slug"], "title": "Another title"}
    return lambda: signed.post(path.replace("{id}", link["id"]), **fields)


async def prepare_variant(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    link = await signed.running.link(signed.key)
    variant = {"name": "B", "weight": "5", "destination_url": link["destination_url"]}
    fields = {f"variants.0.{name}": text for name, text in variant.items()}
    return lambda: signed.post(path.replace("{id}", link["id"]), **fields)


async def prepare_many_links(signed: Signed, path: str) -> Callable[[], Awaitable[httpx.Response]]:
    ids = [await signed.link(), await signed.link()]
    return lambda: signed.post(path, action="set", **{"ids[]": ids, "set[add_tags]": "new"})


RECIPES: Mapping[str, Recipe] = {
    "/login": prepare_login,
    "/login/code": prepare_code,
    "/enter/{token}": prepare_sign_in_link,
    "/confirm/{token}": prepare_new_email,
    "/account/name": form({"name": "Another name"}),
    "/account/email": form({"email": "somebody.else@example.com"}),
    "/account/password": form({"password": PASSWORD}),
    "/account/passkeys/{id}/remove": form_of(new_passkey),
    "/account/two-factor/confirm": prepare_second_factor,
    "/account/two-factor/recovery-codes": with_second_factor(),
    "/account/two-factor/remove": with_second_factor(),
    "/account/sign-in-rules": with_second_factor({"required_factor": "second_factor"}),
    "/account/data/export": form(),
    "/account/audit/download": form(),
    "/integrations/api": form({"name": "CI", "scopes[]": "links:read"}),
    "/integrations/api/{id}/revoke": form_of(new_key),
    "/links/new": prepare_new_link,
    "/links/{id}/edit": prepare_changed_link,
    "/links/{id}/switch": form_of(Signed.link, {"status": "inactive"}),
    "/links/{id}/delete": form_of(Signed.link),
    "/links/{id}/routing": prepare_variant,
    "/links/{id}/qrcode": form_of(Signed.link, {"foreground": "#112233"}),
    "/links/{id}/qrcode/logo": prepare_logo,
    "/links/{id}/qrcode/logo/delete": prepare_logo,
    "/links/{id}/qrcode/domain-logo": prepare_logo,
    "/links/{id}/qrcode/domain-logo/delete": prepare_logo,
    "/links/utm-templates/new": form({"name": "Newsletter", "utm_params[utm_source]": "mail"}),
    "/links/utm-templates/{id}": form_of(new_utm_template, {"name": "Another name"}),
    "/links/utm-templates/{id}/delete": form_of(new_utm_template),
    "/links/addresses/new": prepare_alias_of_named,
    "/links/{id}/addresses": prepare_alias,
    "/links/{id}/addresses/{alias_id}/delete": prepare_alias,
    "/links/bulk": prepare_many_links,
    "/links/bulk/{id}/cancel": form_of(running_change),
    "/links/bulk/{id}/undo": form_of(deleted_links),
    "/links/import/{source}": form({"token": "a-token", "url": "https://dub.example.com"}),
    "/links/imports/{id}/domains": prepare_domain_of_import,
    "/links/imports/{id}/give-up": form_of(new_import),
    "/domains": prepare_new_domain,
    "/domains/{id}": form_of(Signed.domain, {"root_url": "https://example.com/"}),
    "/domains/{id}/verify": form_of(Signed.domain),
    "/domains/{id}/default": form_of(Signed.domain, {"is_default": "1"}),
    "/domains/{id}/delete": form_of(Signed.domain),
    "/domains/{id}/options": form_of(Signed.domain, {}),
    "/domains/{id}/appearance": form_of(Signed.domain, {"name": "Acme"}),
    "/domains/{id}/app-links": form_of(Signed.domain, {"apple_app_site_association": APP_LINKS}),
    "/stats/views/new": form({"name": "Last week", "query": "period=7d", "members": "all"}),
    "/shares/new": form({"name": "A share"}),
    "/shares/{id}": form_of(new_share, {"name": "Another name"}),
    "/shares/{id}/delete": form_of(new_share),
    "/tags/new": form({"name": "A tag"}),
    "/tags/{id}": form_of(new_tag, {"name": "Another name"}),
    "/tags/{id}/delete": form_of(new_tag),
    "/pixels/new": form(PIXEL | {"pixel_id": "1" * 15}),
    "/pixels/{id}": form_of(new_pixel, {"platform": "facebook", "name": "Another name"}),
    "/pixels/{id}/test": form_of(new_pixel_with_token),
    "/pixels/{id}/delete": form_of(new_pixel),
    "/webhooks/new": form({"url": RECEIVER, "event_types[]": "link.created"}),
    "/webhooks/{id}/test": form_of(new_webhook),
    "/webhooks/{id}/delete": form_of(new_webhook),
    "/webhooks/{id}/deliveries/{delivery}/redeliver": prepare_redelivery,
    "/operator/accounts/{id}/suspend": form_of_operator(own_account, REASON),
    "/operator/accounts/{id}/resume": form_of_operator(suspended_account),
    "/operator/accounts/{id}/plan": form_of_operator(own_account, {"plan": "none", "confirmed": "none"}),
    "/operator/accounts/{id}/sign-in-link": prepare_link_for_member,
    "/operator/links/{id}/disable": form_of_operator(Signed.link, REASON),
    "/operator/links/{id}/enable": form_of_operator(disabled_link),
    **member_forms.RECIPES,
}
NOT_RECORDED = {
    "/login/passkey": "needs an authenticator: tests/browser/test_accounts.py looks at the log",
    "/account/passkeys": "needs an authenticator: tests/browser/test_accounts.py looks at the log",
    "/login/passkey/options": "changes nothing",
    "/account/passkeys/options": "changes nothing",
    "/account/two-factor": "shows a secret, and stores nothing",
    "/qrcodes/archive": "makes a file, and changes nothing",
    "/qrcodes/sheet": "makes a file, and changes nothing",
    "/stats/reports": "recorded, and only open with a mail server: tests/resources/statistics_reports/test_pages.py",
    "/stats/reports/{id}/end": "see above",
    "/stats/reports/unsubscribe/{token}": "of the recipient: tests/resources/statistics_reports/test_pages.py",
    "/stats/views/{id}/edit": "recorded if all members see it: tests/resources/saved_views/test_saved_views.py",
    "/stats/views/{id}/delete": "see above",
    "/share/{token}": "of visitors, and changes nothing",
    "/links/columns": "kept in the browser",
    "/account/first-steps/hide": "kept in the browser",
    "/account/verify": "confirms who is there, and changes nothing else",
    "/account/verify/passkey": "confirms who is there, and changes nothing else",
    "/account/verify/passkey/options": "changes nothing",
    "/account/confirm": "sends an email again",
    "/account/accounts/{id}": "shows another account",
    "/account/preferences": "how pages show times and numbers to the person alone",
    "/account/timezone": "see above",
    "/account/sessions/end-others": "ends sessions, which members of accounts do not see",
    "/account/sessions/{id}/end": "ends sessions, which members of accounts do not see",
    "/logout": "ends a session, which members of accounts do not see",
    "/account/delete": "the log is deleted with the account",
    "/setup": "recorded, and only open before there is an owner: tests/accounts/test_setup.py",
    "/signup": "the log begins with the account",
    "/invite/{token}": "the log begins with the account",
    "/forgot": "may be sent by anybody, and changes nothing",
    "/reset/{token}": "two entries: the new password, and the sign-in with it, see below",
    "/plan/checkout": "the payment is recorded when Stripe reports it: tests/resources/plan/test_stripe.py",
    "/plan/portal": "leads to Stripe, see above",
    "/links/preview": "changes nothing",
    "/domains/{id}/appearance/preview": "changes nothing",
    "/links/imports/{id}/pieces": "a part of the file of a requested import",
    "/links/imports/{id}/plan": "reads a source, and changes no link",
    "/links/imports/{id}/start": "the job that begins the import records it: tests/resources/imports/test_pages.py",
    "/links/imports/{id}/resume": "continues an import that is recorded",
    "/operator/accounts/new": "the log begins with the account: tests/resources/operator/test_management.py",
    "/operator/invite": "an invitation to create an account, of which there is no log yet",
    "/operator/service/diagnose": "changes nothing",
    "/operator/links/{id}/dismiss": "concerns reports, which members of accounts do not see",
    **member_forms.NOT_RECORDED,
}


@pytest.fixture
def running(shared_app: RunningApp) -> RunningApp:
    return shared_app


async def sign_in(running: RunningApp, client: httpx.AsyncClient) -> Signed:
    account, now = await running.account(), datetime.now(UTC)
    async with running.db.write() as tx:
        [member] = await memberships.list_of_account(tx, account)
        token = await sessions.create(tx, member.person.id, user_agent="a test", ip="127.0.0.1", now=now)
    client.cookies.set("waypost", token, domain="waypost.test")
    key = await running.key(account, SCOPES)
    return Signed(running, client, account, member.person.id, member.person.email, key)


def new_client(running: RunningApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=running.client._transport, base_url=running.client.base_url)


def test_every_form_is_known(running: RunningApp) -> None:
    assert {*RECIPES} | {*NOT_RECORDED} == {*running.forms}
    assert not {*RECIPES} & {*NOT_RECORDED}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", RECIPES)
async def test_a_form_leaves_one_entry(running: RunningApp, path: str) -> None:
    client = new_client(running)
    signed = await sign_in(running, client)
    send = await RECIPES[path](signed, path.replace("{source}", "dub"))
    before = await entries_of(running, signed.account)
    response = await send()
    assert response.status_code in {200, 201, 303}, response.text
    [entry, *others] = await entries_of(running, signed.account)
    assert others == before
    by_person, by_operator = ("person", signed.person, "127.0.0.1"), ("operator", None, None)
    expected = by_operator if path.startswith("/operator/") else by_person
    assert (entry.actor.type, entry.actor.id, entry.actor.ip) == expected


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", RECIPES)
async def test_a_form_from_another_site_leaves_none(running: RunningApp, path: str) -> None:
    client = new_client(running)
    signed = await sign_in(running, client)
    await RECIPES[path](signed, path.replace("{source}", "dub"))
    before = await entries_of(running, signed.account)
    own = path.replace("{id:uuid}", "{id}").format_map(_Ids())
    response = await client.post(own, headers={"Sec-Fetch-Site": "cross-site"})
    assert response.status_code == 403
    assert await entries_of(running, signed.account) == before


class _Ids(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "dub" if name == "source" else str(uuid4())


@pytest.mark.asyncio(loop_scope="module")
async def test_a_reset_password_leaves_the_change_and_the_sign_in(running: RunningApp) -> None:
    client = new_client(running)
    signed = await sign_in(running, client)
    token = await one_time_link(signed, "reset", email=signed.email)
    client.cookies.clear()
    assert (await signed.post(f"/reset/{token}", password=PASSWORD)).status_code == 303
    entries = await entries_of(running, signed.account)
    assert [entry.action for entry in entries] == ["person.signed_in", "password.reset"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_sign_in_link_of_a_command_is_recorded(running: RunningApp) -> None:
    signed = await sign_in(running, new_client(running))
    deps = new_deps(Settings(secret_key="a key"), running.db, lambda: datetime.now(UTC))
    await create_sign_in_link(deps, signed.person)
    [entry] = await entries_of(running, signed.account)
    assert (entry.action, entry.actor.type) == ("sign_in_link.created", "command")
