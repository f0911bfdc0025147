"""Pages of members, invitations and accounts, as their users see them."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from browsing import Browser, WebApp, open_place

from waypost import accounts
from waypost.accounts.auth_deps import new_deps
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Role
from waypost.accounts.sign_in import service as sign_in
from waypost.audit import Actor

PASSWORD = "four plain words suffice"
MEMBERS = "/account/members"


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as place:
        yield place


def command(of: Browser) -> Actor:
    assert of.account
    return Actor.command(of.account.id, "a test")


async def joined(place: WebApp, ada: Browser, name: str, role: Role) -> Browser:
    """Somebody with an own account, whose session shows Ada's."""
    browser = await place.browser(f"{name}@example.com")
    assert ada.account
    await members.add(
        new_deps(place.settings, place.db, place.clock),
        command(ada),
        f"{name}@example.com",
        role,
    )
    await browser.post(f"/account/accounts/{ada.account.id}")
    return browser


async def role_of(place: WebApp, ada: Browser, other: Browser) -> str | None:
    assert ada.account
    assert other.person
    async with place.db.read() as tx:
        return await memberships.find(tx, ada.account.id, other.person.id)


def one(browser: Browser) -> str:
    assert browser.person
    return f"{MEMBERS}/{browser.person.id}"


async def invited(ada: Browser, **fields: str) -> str:
    answer = await ada.post(f"{MEMBERS}/invite", {"kind": "link", "role": "editor", **fields})
    assert answer.status_code == 201, answer.text
    found = re.search(r"http://app\.test(/invite/account/[\w-]+)", answer.text)
    assert found
    return found[1]


async def test_lists_members_and_changes_them(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    bob = await joined(place, ada, "bob", "viewer")
    page = (await ada.get(MEMBERS)).text
    assert page.index("ada@example.com") < page.index("bob@example.com")
    assert "Invite" in page
    assert "Change role" in (await ada.get(one(bob))).text
    answer = await ada.post(f"{one(bob)}/role", {"role": "admin"})
    assert answer.headers["location"] == f"{MEMBERS}?done=role"
    assert await role_of(place, ada, bob) == "admin"
    assert (await ada.post(f"{one(bob)}/role", {"role": "chief"})).status_code == 422
    assert (await bob.post(f"{one(ada)}/remove")).status_code == 422  # a new role ends the reauthentication
    await place.authenticate_all()
    answer = await bob.post(f"{one(ada)}/remove")
    assert answer.status_code == 403
    assert "Select" not in (await bob.get(one(ada))).text
    answer = await ada.post(f"{one(ada)}/remove")
    assert answer.status_code == 422
    assert members.LAST_OWNER in answer.text
    answer = await ada.post(f"{one(bob)}/remove")
    assert answer.headers["location"] == f"{MEMBERS}?done=member-removed"
    assert (await ada.get(one(bob))).status_code == 404
    assert "bob@example.com" not in (await ada.get(MEMBERS)).text
    settings = (await bob.get("/account/settings")).text
    assert "bob@example.com" in settings  # shows the account of his own
    assert "ada@example.com" not in settings


async def test_finds_members_among_many(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    deps = new_deps(place.settings, place.db, place.clock)
    assert ada.account
    for number in range(60):
        await members.add(
            deps,
            command(ada),
            f"person{number}_x@example.com",
            "editor" if number % 2 else "viewer",
        )
    page = (await ada.get(MEMBERS)).text
    assert "Page 1 of 2" in page
    assert "Page 2 of 2" in (await ada.get(f"{MEMBERS}?page=2")).text
    found = (await ada.get(f"{MEMBERS}?search=7_X&role=editor")).text
    assert ("person7_x@" in found, "person17_x@" in found, "person8_x@" in found) == (True, True, False)
    assert "No member matches" in (await ada.get(f"{MEMBERS}?search=%25%00")).text
    assert (await ada.get(f"{MEMBERS}?role=chief")).status_code == 200


async def test_changes_of_members_need_reauthentication(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    bob = await joined(place, ada, "bob", "viewer")
    place.clock.move(sign_in.RECENT)
    for path, fields in (
        (f"{one(bob)}/role", {"role": "owner"}),
        (f"{one(bob)}/remove", {}),
        (f"{one(bob)}/offer", {}),
        (f"{MEMBERS}/invite", {"kind": "link", "role": "owner"}),
    ):
        answer = await ada.post(path, fields)
        assert (answer.status_code, sign_in.CONFIRM_FIRST in answer.text.replace("&#39;", "'")) == (422, True)
    assert await role_of(place, ada, bob) == "viewer"


async def test_a_link_lets_one_person_in(place: WebApp) -> None:
    ada, bob, eve = [await place.browser(f"{name}@example.com") for name in ("ada", "bob", "eve")]
    path = await invited(ada)
    listed = (await ada.get(MEMBERS)).text
    assert path.rpartition("/")[2] not in listed
    page = await bob.get(path)
    assert "ada@example.com" in page.text
    assert "You are signed in as <strong>bob@example.com" in page.text
    assert (await bob.post(path)).headers["location"] == "/"
    assert await role_of(place, ada, bob) == "editor"
    assert (await bob.get("/account/settings")).text.count("ada@example.com")  # his session shows Ada's account
    for request in (eve.get, eve.post):
        answer = await request(path)
        assert (answer.status_code, "Ask for a new invitation" in answer.text) == (404, True)


async def test_an_email_invitation_is_for_its_email(place: WebApp) -> None:
    ada, eve = await place.browser("ada@example.com"), await place.browser("eve@example.com")
    path = await invited(ada, kind="email", email="bob@example.com")
    assert 'is for <strong class="wrap">bob@example.com' in (await eve.get(path)).text
    assert (await eve.post(path)).status_code == 422
    nobody = await place.browser()
    assert (await nobody.post(path)).headers["location"].startswith("/login")
    assert 'value="bob@example.com"' in (await nobody.get(path)).text
    answer = await nobody.post(f"{path}/signup", {"name": "Bob", "password": "short"})
    assert answer.status_code == 422
    answer = await nobody.post(f"{path}/signup", {"name": "Bob", "email": "x@example.com", "password": PASSWORD})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "bob@example.com" in (await ada.get(MEMBERS)).text
    assert (await nobody.get("/links")).status_code == 200
    assert (await accounts.get_person(place.db, "bob@example.com")).name == "Bob"


async def test_invites_several_people_or_nobody(place: WebApp) -> None:
    ada, _ = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    several = {"kind": "email", "role": "viewer", "email": "bob@example.com, eve@example.com\r\nBob@example.com"}
    refused = await ada.post(f"{MEMBERS}/invite", several | {"email": "bob@example.com;nobody"})
    assert (refused.status_code, "nobody: " in refused.text) == (422, True)
    many = " ".join(f"p{number}@example.com" for number in range(21))
    assert "At most 20" in (await ada.post(f"{MEMBERS}/invite", several | {"email": many})).text
    assert "bob@example.com" not in (await ada.get(MEMBERS)).text
    made = await ada.post(f"{MEMBERS}/invite", several)
    assert (made.status_code, len(set(re.findall(r"/invite/account/[\w-]+", made.text)))) == (201, 2)
    listed = (await ada.get(MEMBERS)).text
    assert ("bob@example.com" in listed, "eve@example.com" in listed) == (True, True)


async def test_who_has_a_sign_in_is_asked_to_sign_in(place: WebApp) -> None:
    ada, _ = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    path = await invited(ada, kind="email", email="bob@example.com")
    page = (await (await place.browser()).get(path)).text
    assert f'href="/login?next={path}"' in page
    assert "Password" not in page


async def test_invitations_are_resent_and_revoked(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    path = await invited(ada)
    found = re.search(rf"{MEMBERS}/invitations/[\w-]+", (await ada.get(MEMBERS)).text)
    assert found
    assert "Anyone with the link" in (await ada.get(found[0])).text
    assert (await bob.get(found[0])).status_code == 404
    renewed = await ada.post(f"{found[0]}/resend")
    assert renewed.status_code == 201
    assert (await bob.get(path)).status_code == 404
    assert (await ada.post(f"{found[0]}/revoke")).headers["location"] == f"{MEMBERS}?done=invitation-revoked"
    assert (await ada.get(found[0])).status_code == 404


async def test_ownership_is_transferred(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    bob = await joined(place, ada, "bob", "editor")
    await ada.post(f"{one(bob)}/offer", {"role_after": "admin"})
    assert "Withdraw offer" in (await ada.get(MEMBERS)).text
    assert "You are offered the ownership" in (await bob.get(MEMBERS)).text
    assert (await bob.post(f"{MEMBERS}/offer/accept")).headers["location"] == f"{MEMBERS}?done=accepted"
    assert (await role_of(place, ada, bob), await role_of(place, ada, ada)) == ("owner", "admin")
    assert (await bob.post(f"{MEMBERS}/offer/accept")).status_code == 404


async def test_leaving_revokes_the_own_keys(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    bob = await joined(place, ada, "bob", "admin")
    assert ada.account
    assert ada.person
    assert bob.person
    new = {"account_id": ada.account.id, "scopes": (), "now": place.clock(), "created_by": bob.person.id}
    key, _ = await accounts.create_key(place.db, name="Bob's program", **new)
    page = (await bob.get(one(bob))).text
    assert "Your API keys are revoked" in page
    assert 'name="keys_to"' not in page
    assert "Take over" in (await ada.get(one(bob))).text
    answer = await bob.post(f"{MEMBERS}/leave", {"keys_to": str(ada.person.id)})
    assert answer.headers["location"] == "/account/accounts?done=left"
    revoked = await accounts.get_key(place.db, ada.account.id, key.id)
    assert (revoked.created_by, revoked.revoked_at) == (bob.person.id, place.clock())


async def test_members_leave_and_delete_their_sign_in(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    nobody = await place.browser()
    path = await invited(ada)
    await nobody.post(f"{path}/signup", {"name": "Bob", "email": "bob@example.com", "password": PASSWORD})
    assert (
        "Leave account"
        in (
            await nobody.get(one(Browser(nobody.client, None, await accounts.get_person(place.db, "bob@example.com"))))
        ).text
    )
    assert (await nobody.post(f"{MEMBERS}/leave")).headers["location"] == "/account/accounts?done=left"
    page = (await nobody.get("/account/accounts?done=left")).text
    assert "You left the account" in page
    assert "Create account" in page
    assert (await nobody.get("/links")).headers["location"] == "/account/accounts"
    assert (await nobody.post("/account/accounts")).headers["location"] == "/"
    assert (await accounts.get_account(place.db, "bob@example.com")).name == "Bob"
    assert (await nobody.post("/account/delete-person")).status_code == 422  # owns it alone

    eve = await place.browser()
    await eve.post(f"{await invited(ada)}/signup", {"name": "", "email": "eve@example.com", "password": PASSWORD})
    assert (await eve.post("/account/delete-person")).headers["location"] == "/login?done=person"
    assert "Your sign-in was deleted" in (await eve.get("/login?done=person")).text
    assert "eve@example.com" not in (await ada.get(MEMBERS)).text


async def test_admins_rename_the_account_and_owners_choose_its_email(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    bob = await joined(place, ada, "bob", "admin")
    assert (await bob.post("/account/settings/name", {"name": "Acme"})).status_code == 303
    assert (await bob.post("/account/settings/email", {"email": "ada@example.com"})).status_code == 403
    assert (await ada.post("/account/settings/email", {"email": "eve@example.com"})).status_code == 422
    assert (await ada.post("/account/settings/name", {"name": " "})).status_code == 422
    assert (await accounts.get_account(place.db, "ada@example.com")).name == "Acme"


async def test_switches_accounts_and_refuses_forms_of_the_one_before(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    solo = (await ada.get("/")).text
    assert "switcher" not in solo
    bob = await joined(place, ada, "bob", "editor")
    page = (await bob.get("/links/new")).text
    assert 'class="switcher"' in page
    assert ada.account
    assert bob.account
    assert page.count(f'name="_account" value="{ada.account.id}"') == page.count('method="post"')
    fields = {"destination_url": "https://93.184.216.34/", "slug": "spring", "_account": str(ada.account.id)}
    await bob.post(f"/account/accounts/{bob.account.id}")  # in another tab
    answer = await bob.post("/links/new", fields)
    assert (answer.status_code, "You switched to the account bob" in answer.text) == (403, True)
    for path in ("/plan/portal", "/account/data/export", "/account/delete", f"{MEMBERS}/leave", "/integrations/api"):
        answer = await bob.post(path, {"_account": str(ada.account.id)})
        assert (answer.status_code, "You switched" in answer.text) == (403, True), path
    answer = await bob.post("/account/name", {"name": "Robert", "_account": str(ada.account.id)})
    assert answer.status_code == 303  # a person has one name
