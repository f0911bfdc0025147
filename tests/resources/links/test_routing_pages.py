"""The routing of a link in the dashboard: edited without a script, tested and saved."""

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from browsing import Browser, WebApp
from resources.links.env import Website

from waypost.kit.preferences import DEFAULT, Preferences
from waypost.resources.links import routing
from waypost.resources.links.routing import forms
from waypost.resources.links.routing.conditions import MAX_VALUES
from waypost.resources.links.routing.schemas import MAX_CONDITIONS, MAX_RULES, MAX_VARIANTS, OVER_100
from waypost.visitors.countries import COUNTRIES
from waypost.web.dashboard import Form

UNSAFE = "This destination is unsafe now"
RULE = {
    "rules.0.name": "iPhone",
    "rules.0.conditions.0.type": "platform",
    "rules.0.conditions.0.operator": "in",
    "rules.0.conditions.0.values.0": "iOS",
    "rules.0.conditions.0.new": "macOS",
}
GERMAN = {
    "rules.1.name": "German",
    "rules.1.conditions.0.type": "country",
    "rules.1.conditions.0.operator": "in",
    "rules.1.conditions.0.new": "germany, AT",
    "rules.1.conditions.1.type": "schedule",
    "rules.1.conditions.1.operator": "not_in",
    "rules.1.conditions.1.weekdays.6": "6",
    "rules.1.conditions.1.weekdays.7": "7",
    "rules.1.conditions.1.from": "08:00",
    "rules.1.conditions.1.to": "20:00",
    "rules.1.conditions.1.timezone": "Europe/Berlin",
}
ALL_TYPES = [
    {"type": "device", "operator": "not_in", "values": ["mobile", "tablet"]},
    {"type": "browser", "operator": "in", "values": ["Chrome", "Samsung Internet"]},
    {"type": "language", "operator": "in", "values": ["de", "pt"]},
    {"type": "query", "operator": "in", "name": "ref", "values": ["mail, spring", "a&b"]},
    {"type": "time", "operator": "in", "from": "2030-10-27T01:30:00.123456Z", "to": "2030-10-28T00:00:00.000000Z"},
    {"type": "country", "operator": "in", "values": sorted(COUNTRIES)},  # too many for fields of their own
]
"""The time is 2:30 for the second time in Berlin."""


async def make(who: Browser, site: Website) -> str:
    """The path of the routing page of a new link."""
    answer = await who.post("/links/new", {"destination_url": site.url("/own"), "slug": "main"})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].partition("?")[0] + "/routing"


def fields(page: str) -> dict[str, str]:
    """What a browser would send of a page: texts, hidden fields and choices, but no button."""
    form = page[page.index('<form id="routing"') :]
    sent = dict(
        re.findall(r'<input[^>]* name="([^"]+)"[^>]*? value="([^"]*)"', re.sub(r"<input[^>]*checkbox[^>]*>", "", form))
    )
    sent |= dict(re.findall(r'type="checkbox" name="([^"]+)" value="([^"]+)" checked', form))
    sent |= dict(re.findall(r'<textarea[^>]* name="([^"]+)"[^>]*>([^<]*)</textarea>', form))
    for name, options in re.findall(r'<select[^>]* name="([^"]+)"[^>]*>(.*?)</select>', form, re.DOTALL):
        chosen = re.findall(r'value="([^"]*)" selected', options) or re.findall(r'value="([^"]*)"', options)
        sent[name] = chosen[0]
    return sent


async def test_rules_and_variants_are_edited_tested_and_saved(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    path = await make(ada, site)
    page = await ada.post(path, fields((await ada.get(path)).text) | {"new_rule": "country", "edit": "add:rules"})
    sent = fields(page.text) | {"new.rules.0.conditions": "time", "new_rule": "device"}
    page = await ada.post(path, sent | {"edit": "add:rules.0.conditions"})
    page = await ada.post(path, fields(page.text) | {"new_rule": "device", "edit": "add:rules"})
    sent = fields(page.text)
    assert [sent[f"rules.{each}.type"] for each in ("0.conditions.0", "0.conditions.1", "1.conditions.0")] == [
        "country",
        "time",
        "device",
    ]
    page = await ada.post(path, sent | {"edit": "remove:rules.0.conditions.1"})
    page = await ada.post(path, fields(page.text) | {"edit": "remove:rules.1"})
    sent = fields(page.text)
    assert "rules.1.name" not in sent
    urls = {"rules.0.destination_url": site.url("/ios"), "rules.1.destination_url": site.url("/de")}
    page = await ada.post(path, sent | RULE | GERMAN | urls | {"edit": "move:rules.1.0"})
    sent = fields(page.text)
    assert (sent["rules.0.name"], sent["rules.1.name"]) == ("German", "iPhone")
    assert re.search(r'value="move:rules.0.1"[^>]* autofocus', page.text)
    variant = {"variants.0.name": "B", "variants.0.destination_url": site.url("/b"), "variants.0.weight": "40"}
    test = {"action": "test", "test.platform": "iOS", "test.country": "Germany", "test.time": "2030-01-05T12:00"}
    page = await ada.post(path, sent | variant | test)
    assert page.status_code == 200
    assert "Rule &#39;German&#39; doesn&#39;t match: time is Saturday 13:00 in Europe/Berlin" in page.text
    assert "Rule &#39;iPhone&#39; matches: platform is iOS" in page.text
    page = await ada.post(path, sent | variant | test | {"test.platform": "Windows"})
    assert "Variant &#39;B&#39; gets 40% of the visitors" in page.text
    assert "The link&#39;s own destination gets 60% of the visitors" in page.text
    answer = await ada.post(path, fields(page.text))
    assert answer.headers["location"] == f"{path}?done=routing-saved", answer.text
    again = fields((await ada.get(answer.headers["location"])).text)
    assert {name: again[name] for name in ("rules.0.name", "variants.0.weight")} == {
        "rules.0.name": "German",
        "variants.0.weight": "40",
    }
    assert again["rules.0.conditions.1.weekdays.6"] == "6"
    assert f'href="{path}">Routing<' in (await ada.get("/links")).text


async def test_templates_and_values_by_their_names_make_rules(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    path = await make(ada, site)
    page = await ada.get(path)
    for template in ("stores", "countries", "split"):
        page = await ada.post(path, fields(page.text) | {"edit": f"template:{template}"})
    assert re.search(r'name="variants.0.destination_url"[^>]* autofocus', page.text)
    sent = fields(page.text)
    assert (sent["rules.0.name"], sent["rules.1.conditions.0.values.0"]) == ("App Store", "Android")
    entered = {"rules.2.conditions.0.new": "Austria; ch", "edit": "pick:rules.2.conditions.0.new"}
    page = await ada.post(path, sent | entered)
    assert re.search(r'name="rules.2.conditions.0.new"[^>]* value=""[^>]* autofocus', page.text)
    assert ("flags.svg#AT" in page.text or "#AT" in page.text, ">Switzerland<" in page.text) == (True, True)
    urls = {f"rules.{index}.destination_url": site.url(f"/{index}") for index in range(3)}
    more = {"variants.0.destination_url": site.url("/b"), "variants.1.destination_url": site.url("/c")}
    saved = await ada.post(path, fields(page.text) | urls | more | {"variants.1.weight": "10"})
    assert saved.status_code == 303
    again = fields((await ada.get(path)).text)
    names = [again[f"{each}.name"] for each in ("rules.2", "variants.0", "variants.1")]
    assert names == ["Austria, Switzerland", "B", "C"]
    viewer = await place.member("vic@example.com", ada.account, "viewer")
    assert ">Austria, Switzerland</h3>" in (await viewer.get(path)).text


async def test_problems_are_beside_their_fields_and_nothing_is_saved(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    path = await make(ada, site)
    variants: dict[str, Any] = {
        f"variants.{index}.{name}": value
        for index in range(2)
        for name, value in (("name", f"V{index}"), ("destination_url", site.url("/b")), ("weight", "60"))
    }
    bad = {"rules.1.conditions.0.new": "Germny, uk", "rules.1.destination_url": "nonsense"}
    bad |= {"rules.1.conditions.2.type": "time", "rules.1.conditions.2.to": "2031-03-30T02:30"}
    bad |= {"shown_zone": "Europe/Berlin", "test.time": "2031-03-30T02:31"}
    answer = await ada.post(path, GERMAN | bad | variants | {"action": "test"})
    assert re.search(r'id="test-time-error">Clocks in Europe/Berlin skip this time', answer.text)
    answer = await ada.post(path, GERMAN | bad | variants)
    assert answer.status_code == 422
    assert 'id="rules-0-conditions-0-new-error">There is no country \u201cGermny\u201d.<' in answer.text
    assert f'id="variants-1-weight-error">{OVER_100}<' in answer.text
    assert re.search(r'id="rules-0-conditions-2-to-error">Clocks in Europe/Berlin skip this time', answer.text)
    assert ('value="Germny"' in answer.text, 'value="GB" checked' in answer.text) == (True, True)
    assert "rules.0.name" not in (await ada.get(path)).text
    added = await ada.post(path, {"edit": "template:countries"})
    empty = await ada.post(path, fields(added.text))
    errors = re.findall(r'class="error" id="([a-z0-9_-]+)-error"', empty.text)
    assert errors == ["rules-0-destination_url", "rules-0-conditions-0-new"]
    bob = await place.browser("bob@example.com")
    assert (await bob.get(path)).status_code == 404
    assert (await bob.post(path, variants)).status_code == 404


async def test_an_unsafe_destination_is_marked_beside_its_field(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    path = await make(ada, site)
    rules = RULE | GERMAN | {"rules.0.destination_url": site.url("/ios"), "rules.1.destination_url": site.url("/de")}
    assert (await ada.post(path, rules)).status_code == 303
    assert UNSAFE not in (await ada.get(path)).text
    async with place.db.write() as tx:
        stored = await routing.find(tx, UUID(path.split("/")[2]))
        assert stored
        await routing.save(tx, replace(stored, unsafe_urls=[site.url("/de")]))
    page = (await ada.get(path)).text
    assert page.count(UNSAFE) == 1
    assert page.index('name="rules.1.destination_url"') < page.index(UNSAFE) < page.index("rules.1.conditions.0")


def test_every_condition_is_sent_as_it_was_stored() -> None:
    rules = [{"name": "all", "conditions": ALL_TYPES, "destination_url": "https://example.com/"}]
    routed: Any = SimpleNamespace(routing=SimpleNamespace(rules=rules, variants=()))
    berlin = Preferences("Europe/Berlin")
    filled = forms.read(Form(dict(flat(dict(forms.fill(routed, berlin).fields)))))
    assert filled.text("rules.0.conditions.4.from") == "2030-10-27T02:30"
    assert forms.request_of(filled, routed, berlin)["rules"][0]["conditions"] == ALL_TYPES


def flat(fields: dict[str, Any]) -> list[tuple[str, Any]]:
    found = []
    for name, value in fields.items():
        if isinstance(value, dict):
            found += [(f"{name}.{inner}", text) for inner, text in flat(value)]
        else:
            found.append((name, value))
    return found


@pytest.mark.parametrize(
    "change",
    [
        "move:rules.0.7",
        "move:rules.7.0",
        "move:rules.0",
        "move:",
        "remove:rules.0.conditions.9",
        "add:rules.4.conditions",
        "add:everything",
        "up:rules",
    ],
)
def test_an_edit_of_nothing_changes_nothing(change: str) -> None:
    form = forms.read(Form({"rules.3.name": "x", "rules": "hostile", "rules.3.conditions.0.type": "unknown"}))
    assert forms.edit(form, change, DEFAULT).form.fields["rules"] == {"0": {"name": "x", "conditions": {}}}


async def test_a_form_of_an_older_version_changes_nothing(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    path = await make(ada, site)
    [version] = re.findall(r'name="version" value="([0-9a-f-]+)"', (await ada.get(path)).text)
    variant = {"variants.0.name": "B", "variants.0.destination_url": site.url("/b"), "version": version}
    assert (await ada.post(path, variant | {"variants.0.weight": "5"})).status_code == 303
    refused = await ada.post(path, largest(site.url("/b")) | variant | {"variants.0.weight": "7"})
    assert refused.status_code == 412
    assert "5</td>" in refused.text
    assert "multipart" not in refused.text, "it allows fewer fields"
    sent = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', refused.text))
    assert (await ada.post(path, sent)).status_code == 303
    page = (await ada.get(path)).text
    assert 'value="7"' in page
    assert page.count("A rule has at most") == MAX_RULES


def largest(url: str) -> dict[str, str]:
    """The form of the largest routing."""
    sent = dict[str, str]()
    for rule in range(MAX_RULES):
        sent[f"rules.{rule}.name"], sent[f"rules.{rule}.destination_url"] = f"Rule {rule}", url
        for number in range(MAX_CONDITIONS):
            path = f"rules.{rule}.conditions.{number}"
            sent |= {f"{path}.type": "browser", f"{path}.operator": "not_in", f"{path}.new": ""}
            sent |= {f"{path}.values.{index}": f"Browser {index}" for index in range(40)}
    return sent


def test_of_too_many_entries_one_more_than_allowed_is_kept() -> None:
    types = {f"rules.{rule}.conditions.{number}.type": "device" for rule in range(99) for number in range(30)}
    entered = {"rules.0.conditions.0.type": "browser", "rules.0.conditions.0.new": ",".join(map(str, range(999)))}
    kept: Any = forms.read(Form(types | entered | {f"variants.{each}.name": "x" for each in range(999)})).fields
    assert (len(kept["rules"]), len(kept["variants"])) == (MAX_RULES + 1, MAX_VARIANTS + 1)
    assert {len(rule["conditions"]) for rule in kept["rules"].values()} == {MAX_CONDITIONS + 1}
    assert kept["rules"]["0"]["conditions"]["0"]["new"].count(",") == MAX_VALUES


async def test_a_limit_of_the_link_is_no_other_version_of_its_rules(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    path = await make(ada, site)
    sent = fields((await ada.get(path)).text)
    edit = path.replace("/routing", "/edit")
    page = (await ada.get(edit)).text
    [version] = re.findall(r'name="version" value="([0-9a-f-]+)"', page)
    limits = {"destination_url": site.url("/own"), "slug": "main", "password": "open sesame", "click_limit": "5"}
    assert (await ada.post(edit, limits | {"version": version})).status_code == 303
    variant = {"variants.0.name": "B", "variants.0.destination_url": site.url("/b"), "variants.0.weight": "5"}
    assert (await ada.post(path, sent | variant)).status_code == 303
    page = (await ada.get(edit)).text
    assert "A password is set." in page
    assert re.search(r'name="click_limit"[^>]* value="5"', page)
