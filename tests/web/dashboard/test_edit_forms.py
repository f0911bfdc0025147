"""Forms that edit an object: who sends one after somebody else has changed it sees both versions."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from ipaddress import ip_network
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import pytest
from browsing import BASE_URL, Browser, WebApp, open_place
from resources.links.env import HOST, Website

from waypost.accounts import SCOPES, create_key, roles
from waypost.kit.preferences import DEFAULT
from waypost.web.dashboard import EditForm, Form
from waypost.web.dashboard.pages import PageRoute

APP_LINKS = [[{"relation": ["a/b"], "target": {"namespace": "web", "site": f"https://{name}.com"}}] for name in "ab"]


class Edit(NamedTuple):
    made_by: str
    """Path in the API, or of a form."""
    body: dict[str, Any]
    field: str
    theirs: str
    yours: str
    label: str = ""


LINK = {"destination_url": "", "slug": "mine"}
DOMAIN = {"hostname": "go.brand.test"}
EDITS = {
    "/domains/{id}": Edit("domains", DOMAIN, "root_url", "https://a.com/", "https://b.com/", "Root URL"),
    "/domains/{id}/app-links": Edit(
        "domains", DOMAIN, "assetlinks", *(json.dumps(each, indent=2) for each in APP_LINKS), label="assetlinks.json"
    ),
    "/domains/{id}/appearance": Edit("domains", DOMAIN, "expired_text", "Over\n", "a\nb", "Expired text"),
    "/domains/{id}/options": Edit("domains", DOMAIN, "slug_length", "5", "6", "Length of generated slugs"),
    "/links/utm-templates/{id}": Edit(
        "utm-templates",
        {"name": "A", "utm_params": {"utm_source": "a", "utm_medium": "b"}},
        "utm_params[utm_source]",
        "",
        "c",
        "UTM params source",
    ),
    "/links/{id}/edit": Edit("links", LINK, "options[note]", "b", "c", "Note"),
    "/links/{id}/qrcode": Edit("links", LINK, "foreground", "#111111", "#222222", "Foreground"),
    "/links/{id}/routing": Edit("links", LINK, "variants.0.weight", "5", "7", "Variant 1, weight"),
    "/pixels/{id}": Edit("pixels", {"platform": "facebook", "name": "A", "pixel_id": "1" * 15}, "name", "B", "C"),
    "/shares/{id}": Edit(
        "shares", {"name": "A"}, "embed_origins", "https://a.com", "https://b.com", "Pages that may embed it"
    ),
    "/stats/views/{id}/edit": Edit(
        "/stats/views/new", {"name": "A", "query": "period=7d", "members": "all"}, "name", "B", "C"
    ),
    "/tags/{id}": Edit("tags", {"name": "A", "color": "red"}, "color", "blue", "green", "Color"),
}
ONE_VALUE = {
    "/account/members/{id:uuid}/role",
    "/account/settings/email",
    "/account/settings/name",
    "/account/sign-in-rules",
}
"""The form shows and sends nothing else, so the person who saves it last has seen what is replaced."""
ACTIONS = {
    *("new", "domains", "addresses", "api", "bulk", "invite", "reports", "{source}", "pieces", "logo", "domain-logo"),
    *("delete", "remove", "revoke", "leave", "end", "cancel", "undo", "give-up", "withdraw", "hide"),
    *("accept", "offer", "resend", "redeliver", "test", "verify", "switch", "default", "plan", "start", "resume"),
    *("download", "export", "archive", "sheet", "preview", "columns", "checkout", "portal"),
}
"""Ends of the paths of forms that create, delete or do something, and of those that change nothing."""


class Forms(HTMLParser):
    """The forms of a page, as a browser without scripts sends them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: dict[str, dict[str, Any]] = {}
        """Fields by the URL of the form. A name that ends with [] has a list."""
        self._form: dict[str, Any] = {}
        self._ids: dict[str, dict[str, Any]] = {}
        self._text: list[str] | None = None
        self._choice = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attributes}
        name, value = of.get("name", ""), of.get("value", "")
        if tag == "form":
            self._form = self.found.setdefault(of.get("action", ""), {})
        elif tag == "input" and name and of.get("type") not in {"file", "submit"}:
            if of.get("type") not in {"checkbox", "radio"} or "checked" in of:
                self._add(name, value)
        elif tag == "textarea":
            self._choice, self._text = name, []
        elif tag == "select":
            self._choice = name
        elif tag == "option" and (self._choice not in self._form or "selected" in of):
            self._form[self._choice] = value

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._text is not None:
            self._add(self._choice, "".join(self._text).removeprefix("\n").replace("\n", "\r\n"))
            self._text = None
        elif tag == "form":
            self._form = {}

    def _add(self, name: str, value: str) -> None:
        if name.endswith("[]"):
            self._form.setdefault(name, []).append(value)
        else:
            self._form[name] = value


def rows_of(page: str) -> list[tuple[str, ...]]:
    """Return the label, who changed the field, their value and yours."""
    cell = r"<td[^>]*>(.*?)</td>"
    row = rf'<th scope="row"[^>]*>(.*?)<br><span class="hint">Changed by (.*?)</span></th>{cell}{cell}'
    return re.findall(row, unescape(page), re.DOTALL)


def without_version(form: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in form.items() if name != "version"}


async def make(place: WebApp, ada: Browser, edit: Edit, site: Website) -> str:
    """Return the id of a new object."""
    body = edit.body | ({"destination_url": site.url()} if edit.made_by == "links" else {})
    if edit.made_by.startswith("/"):
        assert (await ada.post(edit.made_by, body)).status_code == 303
        return re.findall(r"/stats/views/([0-9a-f-]{36})/edit", (await ada.get("/stats/views")).text)[0]
    account = ada.account.id
    _, key = await create_key(place.db, account_id=account, name="a key", scopes=SCOPES, now=place.clock())
    path, headers = f"/api/v1/{edit.made_by}", {"Authorization": f"Bearer {key}"}
    answer = await ada.client.post(path, json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    id_: str = answer.json()["data"]["id"]
    if edit.made_by == "links":
        here = {"operator": "in"}
        conditions = [
            {"type": "platform", **here, "values": ["iOS", "Android"]},
            {"type": "query", "operator": "not_in", "name": "ref", "values": ["mail"]},
            {"type": "time", **here, "from": "2030-06-01T09:00:00Z", "to": None},
            {"type": "schedule", **here, "weekdays": [1, 5], "from": "09:00", "to": "17:00", "timezone": "Asia/Tokyo"},
        ]
        rules = [{"name": name, "conditions": conditions, "destination_url": site.url()} for name in ("One", "Two")]
        routing = {"rules": rules, "variants": [{"name": "B", "destination_url": site.url(), "weight": 3}]}
        assert (await ada.client.put(f"{path}/{id_}/routing", json=routing, headers=headers)).status_code == 200
    return id_


async def open_form(ada: Browser, path: str) -> dict[str, Any]:
    route = path.removesuffix("/options")
    page = await ada.get(route)
    assert page.status_code == 200, page.text
    forms = {
        urlsplit(urljoin(f"{BASE_URL}{route}", action)).path: form for action, form in Forms(page.text).found.items()
    }
    return forms[path]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_every_form_that_edits_checks_the_version(database_url: str, tmp_path: Path) -> None:
    async with open_place(database_url, tmp_path) as place:
        routes = [route for route in place.site.app.dashboard.routes if isinstance(route, PageRoute)]
    forms = [route for route in routes if "POST" in route.methods and route.access in roles.LEAST_ROLE]
    assert {route.path for route in forms if route.edit} == {*EDITS}
    assert {route.path for route in forms if route.path.rpartition("/")[2] not in ACTIONS} == {*EDITS} | ONE_VALUE


def test_compares_boxes_lists_and_lines() -> None:
    async def find(*_: Any) -> None: ...

    stored = {
        "logo": False,
        "case": True,
        "pixel_ids": ["a"],
        "tags": [],
        "text": "a\nb",
        "name": "A",
        "more": {"x": "1", "y": "2", "z": "3"},
    }
    sent: dict[str, Any] = {"logo": "true", "pixel_ids": ["a", "b"], "text": "a\r\nb", "password": "secret"}
    sent["more"] = {"x": None, "y": "2", "\u00b2": "4"}
    names = {"pixel_ids": {"b": "Spring"}, "name": {"A": ""}}
    assert EditForm(find, lambda stored, _: Form(stored)).compare(stored, Form(sent), DEFAULT, names) == [
        ("Logo", "No", "Yes", "both"),
        ("Case", "Yes", "No", "both"),
        ("Pixel", "a", "a, Spring", "both"),
        ("More x", "1", "", "both"),
        ("More z", "3", "", "both"),
        ("More \u00b2", "", "4", "both"),
    ]


def test_keeps_what_only_the_other_person_changed() -> None:
    async def find(*_: Any) -> None: ...

    rows = {"0": {"name": "A", "days": {"0": "1"}}, "1": {"name": "B"}}
    opened: dict[str, Any] = {"name": "A", "title": "", "at": "2026-12-24T18:00", "tags": ["a"], "logo": False}
    opened |= {"case": True, "rules": {}, "more": {"x": "1", "y": "2"}}
    saved = opened | {"title": "T", "at": "2026-12-25T18:00", "tags": ["a", "b"], "logo": True, "case": False}
    saved |= {"rules": rows, "more": {"x": "3", "y": "2", "z": "5"}}
    form = EditForm(find, lambda stored, _: Form(stored), labels={"at": "Expires"})
    shown = form.show(opened, DEFAULT).fields
    sent = Form(
        shown | {"name": "N", "at": "2026-12-26T18:00", "logo": None, "case": "1", "more": {"x": "1", "y": "4"}}
    )
    assert form.compare(saved, sent, DEFAULT) == [
        ("Name", "A", "N", "you"),
        ("Title", "T", "", "them"),
        ("Expires", "25 Dec 2026, 18:00", "26 Dec 2026, 18:00", "both"),
        ("Tags", "a, b", "a", "them"),
        ("Logo", "Yes", "No", "them"),
        ("Case", "No", "Yes", "them"),
        ("Rule 1, name", "A", "", "them"),
        ("Rule 1, day 1", "1", "", "them"),
        ("Rule 2, name", "B", "", "them"),
        ("More x", "3", "1", "them"),
        ("More y", "2", "4", "you"),
        ("More z", "5", "", "them"),
    ]
    assert {*form.merge(saved, sent, DEFAULT)} == {
        *(("name", "N"), ("title", "T"), ("at", "2026-12-26T18:00"), ("tags[]", "a"), ("tags[]", "b")),
        *(("logo", "true"), ("more[x]", "3"), ("more[y]", "4"), ("more[z]", "5")),
        *(("rules.0.name", "A"), ("rules.0.days.0", "1"), ("rules.1.name", "B")),
        ("version", form.show(saved, DEFAULT).text("version")),
    }


async def test_shows_both_versions(database_url: str, tmp_path: Path) -> None:
    async with Website().open() as site, open_place(database_url, tmp_path, outbound_allow=[ip_network(HOST)]) as place:
        ada, made = await place.browser("ada@example.com"), dict[str, str]()
        for path, edit in EDITS.items():
            if edit.made_by not in made:
                made[edit.made_by] = await make(place, ada, edit, site)
            own = path.replace("{id}", made[edit.made_by])
            opened = await open_form(ada, own)
            assert (await ada.post(own, opened | {edit.field: edit.theirs})).status_code == 303, path
            theirs = await open_form(ada, own)
            label, shown = edit.label or "Name", edit.theirs.strip() or "\u2013"
            untouched = await ada.post(own, opened)
            rows = [row[:3] for row in rows_of(untouched.text)]
            assert (untouched.status_code, rows) == (412, [(label, "them", shown)]), path
            assert (await ada.post(own, Forms(untouched.text).found[own])).status_code == 303, path
            assert without_version(await open_form(ada, own)) == without_version(theirs), path
            yours = opened | {edit.field: edit.yours.replace("\n", "\r\n")}
            refused = await ada.post(own, yours)
            rows = [(label, "both", shown, edit.yours)]
            assert (refused.status_code, rows_of(refused.text)) == (412, rows), path
            sent = Forms(refused.text).found[own]
            assert (await ada.post(own, sent)).status_code == 303, path
            saved = await open_form(ada, own)
            assert without_version(saved) == without_version(yours), path
            assert (await ada.post(own, sent)).status_code == 412, path
            assert (await ada.post(own, sent | {"version": ""})).status_code == 303, path


async def test_shows_what_people_call_values(database_url: str, tmp_path: Path) -> None:
    async with Website().open() as site, open_place(database_url, tmp_path, outbound_allow=[ip_network(HOST)]) as place:
        ada = await place.browser("ada@example.com")
        paths = ("/pixels/{id}", "/links/{id}/edit", "/domains/{id}/options", "/shares/{id}")
        made = {EDITS[path].made_by: await make(place, ada, EDITS[path], site) for path in paths}
        link = made["links"]
        for path, changed, rows in (
            (
                "/links/{id}/edit",
                {"pixel_ids[]": [made["pixels"]], "hostname": "go.brand.test", "options[forward_path]": "yes"},
                [
                    ("Domain", "go.brand.test (not verified)", "app.test"),
                    ("Pixels", "A (Facebook)", "\u2013"),
                    ("Path after the link", "Add it to the destination", "\u2013"),
                ],
            ),
            (
                "/domains/{id}/options",
                {"slug_alphabet": "lower"},
                [("Characters of generated slugs", "Small letters and digits", "Letters and digits")],
            ),
            ("/links/{id}/qrcode", {"level": "Q"}, [("Error correction", "High: 25%", "Medium: 15%")]),
            (
                "/shares/{id}",
                {"filters[]": ["country=DE", f"link_id=-{link}"]},
                [("Only clicks that match", "Country is Germany, Link is not go.brand.test/mine", "\u2013")],
            ),
        ):
            own = path.replace("{id}", made[EDITS[path].made_by])
            opened = await open_form(ada, own)
            assert (await ada.post(own, opened | changed)).status_code == 303, path
            refused = await ada.post(own, opened)
            assert {row[:1] + row[2:] for row in rows_of(refused.text)} == {*rows}, path
