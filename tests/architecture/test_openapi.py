"""The OpenAPI document tells the truth: of every answer, every body that is taken, and every key that is asked for."""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from architecture.facts import (
    CLICK,
    CODES,
    DELIVERY,
    DELIVERY_STATUSES,
    DOMAIN,
    DOMAIN_STATUSES,
    DOMAIN_URL,
    ENDPOINTS,
    EVENT_TYPES,
    FILES,
    LEVELS,
    LINK,
    LINK_LIMITS,
    PIXEL,
    PIXEL_LIMITS,
    PLATFORMS,
    PREFIX,
    QRCODE,
    REQUESTS_PER_MINUTE,
    SCOPES,
    SIGNED,
    STYLES,
    TLS_STATUSES,
    WEBHOOK,
    WEBHOOK_URL,
)
from architecture.json_schema import problems, resolved
from architecture.running import BASE_URL, RECEIVER, RunningApp
from architecture.running import PIXEL as NEW_PIXEL
from PIL import Image
from resources.clicks.visited import fill, new_click, new_link

from waypost.resources.clicks.model import KINDS
from waypost.web import envelope
from waypost.web.endpoint import EndpointTable

ALL = ENDPOINTS | {"qrcodes_image": SIGNED}
BULK = "links_bulk_create", "links_bulk_update", "links_bulk_delete"
COUNTED = ("clicks_list", "links_clicks", "links_stats", "stats_get")
UTM_KEYS = [name.removeprefix("utm_params.") for name in LINK_LIMITS if name.startswith("utm_params.")]
JSON, FORM = "application/json", "multipart/form-data"
FULL = {
    "slug": "full",
    "title": "A title",
    "og_title": "Shown",
    "og_description": "Told\nin two lines",
    "og_image": "https://example.com/image.png",
    "utm_params": {"utm_source": "mail"},
    "tags": ["one", "two"],
    "expires_at": "2999-12-31T23:59:59+01:00",
}


VALID = {
    **dict.fromkeys(("destination_url", "og_image", "url", "root_url", "not_found_url"), "https://example.com/"),
    **dict.fromkeys(("foreground", "background"), "#000000"),
    "hostname": "go.example.com",
    "tags": ["text"],
    "utm_params": {"utm_source": "text"},
}


@dataclass
class Document:
    """The document as it is served, and requests whose answers are held to it."""

    running: RunningApp
    content: dict[str, Any]

    def operation(self, name: str) -> dict[str, Any]:
        endpoint = ALL[name]
        return self.content["paths"][PREFIX + endpoint.path][endpoint.method.lower()]

    def body(self, name: str, kind: str = JSON) -> dict[str, Any]:
        """The schema, with those of its fields that have a name in place of references to them."""
        named = self.operation(name)["requestBody"]["content"][kind]["schema"]
        schema = resolved(self.content, named["$ref"])
        fields = {name: self.field(field) for name, field in schema["properties"].items()}
        return schema | {"properties": fields}

    def field(self, field: dict[str, Any]) -> dict[str, Any]:
        """Without references, and with null as one of the types."""
        if "anyOf" in field:
            option, null = field["anyOf"]
            assert null == {"type": "null"}
            option = self.field(option)
            return field | option | {"type": [option["type"], "null"]}
        return field | resolved(self.content, field["$ref"]) if "$ref" in field else field

    def response(self, operation: dict[str, Any], status: int) -> dict[str, Any]:
        responses = operation["responses"]
        response = responses.get(str(status), responses["default"])
        return resolved(self.content, response["$ref"]) if "$ref" in response else response

    def statuses(self, name: str) -> set[str]:
        return set(self.operation(name)["responses"])

    async def ask(self, key: str | None, operation: str, *ids: str, **rest: Any) -> httpx.Response:
        answer = await self.running.ask(key, ALL[operation], *ids, **rest)
        response = self.response(self.operation(operation), answer.status_code)
        for name, reference in response.get("headers", {}).items():
            header = resolved(self.content, reference["$ref"])
            assert name in answer.headers or not header.get("required"), name
        if "content" not in response:
            assert answer.content == b""
            return answer
        assert answer.headers["content-type"] == JSON
        assert list(problems(self.content, response["content"][JSON]["schema"], answer.json())) == []
        return answer


@pytest.fixture(scope="module")
def served() -> dict[str, Any]:
    """The same for every test, and made once: that takes longer than most of them."""
    return {}


@pytest.fixture
async def document(running: RunningApp, served: dict[str, Any]) -> Document:
    if not served:
        served |= (await running.client.get("/api/openapi.json")).json()
    return Document(running, served)


@pytest.fixture
async def key(running: RunningApp) -> str:
    return await running.key(await running.account(), SCOPES)


async def test_documents_the_life_of_a_link(document: Document, key: str) -> None:
    """The life of a link, with every response checked against the document."""
    bare = {"destination_url": document.running.website.url}
    for sent in (bare, bare | FULL):
        assert list(problems(document.content, document.body("links_create"), sent)) == []
        made = (await document.ask(key, "links_create", json=sent)).json()["data"]
        found = (await document.ask(key, "links_get", made["id"])).json()["data"]
        assert found == made
    listed = (await document.ask(key, "links_list", params={"per_page": 1})).json()
    assert (listed["data"], listed["meta"]["total"]) == ([made], 2)
    assert (await document.ask(key, "links_list", params={"page": 9})).json()["data"] == []
    changed = (await document.ask(key, "links_update", made["id"], json={"title": None, "status": "inactive"})).json()[
        "data"
    ]
    assert changed["status"] == "inactive"
    assert (await document.ask(key, "links_delete", made["id"])).status_code == 204


async def test_documents_aliases(document: Document, key: str) -> None:
    link, domain = await document.running.link(key), await document.running.domain(key)
    sent = {"hostname": domain["hostname"], "path": "summer/sale"}
    assert list(problems(document.content, document.body("links_create_alias"), sent)) == []
    made = (await document.ask(key, "links_create_alias", link["id"], json=sent)).json()["data"]
    assert (await document.ask(key, "links_list_aliases", link["id"])).json()["data"] == [made]
    for path in ("/a", "", "a\tb", "a\x9fb", "a" * 1025):
        assert list(problems(document.content, document.body("links_create_alias"), sent | {"path": path})) != []
        assert (
            await document.ask(key, "links_create_alias", link["id"], json=sent | {"path": path})
        ).status_code == 422
    assert (await document.ask(key, "links_delete_alias", link["id"], made["id"])).status_code == 204


async def test_documents_routing(document: Document, key: str) -> None:
    link = await document.running.link(key)
    assert (await document.ask(key, "links_get_routing", link["id"])).json()["data"]["rules"] == []
    conditions = [
        {"type": "country", "operator": "not_in", "values": ["DE"]},
        {"type": "query", "name": "q", "values": [""]},
        {"type": "time", "from": "2030-01-31T12:00:00Z", "to": None},
        {"type": "schedule", "weekdays": [1, 7], "from": "22:00", "to": "06:00", "timezone": "Europe/Berlin"},
    ]
    destination = {"destination_url": document.running.website.url}
    sent = {
        "rules": [{"name": "A", "conditions": conditions, **destination}],
        "variants": [{"name": "B", "weight": 100, **destination}],
        "password": "1234",
    }
    assert list(problems(document.content, document.body("links_set_routing"), sent)) == []
    data = (await document.ask(key, "links_set_routing", link["id"], json=sent)).json()["data"]
    assert [condition["type"] for condition in data["rules"][0]["conditions"]] == [each["type"] for each in conditions]
    assert (await document.ask(key, "links_get_routing", link["id"])).json()["data"] == data
    for name, wrong in (("password", "abc"), ("rules", [{}]), ("variants", [{"weight": 0}]), ("click_limit", 0)):
        assert list(problems(document.content, document.body("links_set_routing"), {name: wrong})) != []
        answer = await document.ask(key, "links_set_routing", link["id"], json={name: wrong})
        assert {field.partition(".")[0] for field in answer.json()["error"]["errors"]} == {name}
    assert FORM not in document.operation("links_set_routing")["requestBody"]["content"]
    assert plain(document.body("links_set_routing")["properties"]["password"])["writeOnly"] is True
    assert (await document.ask(key, "links_delete_routing", link["id"])).status_code == 204


async def test_documents_app_links(document: Document, key: str) -> None:
    domain = await document.running.domain(key)
    sent = {"apple_app_site_association": {"unknown": [{}]}, "assetlinks": None}
    assert list(problems(document.content, document.body("domains_set_app_links"), sent)) == []
    assert (await document.ask(key, "domains_set_app_links", domain["id"], json=sent)).json()["data"] == sent
    assert (await document.ask(key, "domains_get_app_links", domain["id"])).json()["data"] == sent
    for name, wrong in (("apple_app_site_association", []), ("assetlinks", {})):
        assert list(problems(document.content, document.body("domains_set_app_links"), {name: wrong})) != []
        assert (await document.ask(key, "domains_set_app_links", domain["id"], json={name: wrong})).status_code == 422


async def test_documents_many_links(document: Document, key: str) -> None:
    """Every status of a row, with every response checked against the document."""
    rows = [{"destination_url": document.running.website.url, "tags": ["one"]}, {"slug": "x"}, {"slug": 1}]
    assert [
        bool([*problems(document.content, document.body("links_bulk_create"), {"links": [row]})]) for row in rows
    ] == [
        False,
        True,
        True,
    ]
    created = (await document.ask(key, "links_bulk_create", json={"links": rows})).json()
    assert created["meta"] == {"created": 1, "invalid": 2}
    ids = [created["data"][0]["link"]["id"], str(uuid4())]
    many = {"add_tags": [str(number) for number in range(100)]}
    for set_, count in (({"status": "inactive"}, "updated"), ({}, "unchanged"), (many, "invalid")):
        sent = {"ids": ids, "set": set_}
        assert list(problems(document.content, document.body("links_bulk_update"), sent)) == []
        changed = (await document.ask(key, "links_bulk_update", json=sent)).json()
        assert (changed["meta"][count], changed["meta"]["not_found"]) == (1, 1)
    fields = document.body("links_bulk_update")["properties"]["set"]["properties"]
    for name, field in fields.items():
        answer = await document.ask(key, "links_bulk_update", json={"ids": ids, "set": {name: None}})
        assert answer.status_code == (200 if "null" in document.field(field)["type"] else 422), name
    assert (await document.ask(key, "links_bulk_delete", json={"ids": ids})).json()["meta"] == {
        "deleted": 1,
        "not_found": 1,
    }
    for endpoint in BULK:
        assert FORM not in document.operation(endpoint)["requestBody"]["content"]
        assert (await document.ask(key, endpoint, json={})).status_code == 422


async def test_documents_the_account_and_its_keys(document: Document, key: str) -> None:
    for plan in ("lifetime", "trial", "subscription"):
        other = await document.running.key(await document.running.account(plan), SCOPES)
        assert (await document.ask(other, "account_get")).status_code == 200
    assert len((await document.ask(key, "keys_list")).json()["data"]) == 1


async def test_documents_clicks_and_statistics(document: Document, key: str) -> None:
    link = await document.running.link(key)
    account = UUID((await document.ask(key, "account_get")).json()["data"]["id"])
    made = [new_click(new_link(account, id=UUID(link["id"])), datetime.now(UTC), kind=kind) for kind in KINDS]
    await fill(document.running.db, made)
    for endpoint in ("clicks_list", "links_clicks"):
        listed = (await document.ask(key, endpoint, link["id"], params={"kind": "all"})).json()
        assert len(listed["data"]) == len(KINDS)
        assert list(listed["data"][0]) == list(CLICK)
    for endpoint in ("links_stats", "stats_get"):
        assert (await document.ask(key, endpoint, link["id"])).json()["data"]["clicks"] == 1
    for endpoint in COUNTED:
        documented = {each["name"] for each in document.operation(endpoint)["parameters"] if each["in"] == "query"}
        answer = await document.ask(key, endpoint, link["id"], params=dict.fromkeys([*documented, "colour"], "\x01"))
        assert set(answer.json()["error"]["errors"]) == {*documented, "colour"}


async def test_documents_the_life_of_a_pixel(document: Document, key: str) -> None:
    for platform in PLATFORMS:
        sent = NEW_PIXEL | {"platform": platform, "access_token": "secret"}
        assert list(problems(document.content, document.body("pixels_create"), sent)) == []
        made = (await document.ask(key, "pixels_create", json=sent)).json()["data"]
        assert list(made) == list(PIXEL)
        assert (await document.ask(key, "pixels_get", made["id"])).json()["data"] == made
    assert len((await document.ask(key, "pixels_list")).json()["data"]) == len(PLATFORMS)
    for name, field in document.body("pixels_update")["properties"].items():
        answer = await document.ask(key, "pixels_update", made["id"], json={name: None})
        assert answer.status_code == (200 if "null" in field["type"] else 422), name
    assert (await document.ask(key, "pixels_results", made["id"])).json()["data"]["sent"] == 0
    assert (await document.ask(key, "pixels_delete", made["id"])).status_code == 204
    for endpoint in ("pixels_get", "pixels_update", "pixels_delete", "pixels_results"):
        assert (await document.ask(key, endpoint, made["id"], json={})).status_code == 404


def test_pixel_secrets_are_write_only(document: Document) -> None:
    assert list(document.content["components"]["schemas"]["Pixel"]["properties"]) == list(PIXEL)
    for endpoint in ("pixels_create", "pixels_update"):
        assert FORM not in document.operation(endpoint)["requestBody"]["content"]
        documented = {name: plain(field) for name, field in document.body(endpoint)["properties"].items()}
        assert {name for name, field in documented.items() if field.get("writeOnly")} == {"pixel_id", "access_token"}
        assert {name: documented[name]["maxLength"] for name in PIXEL_LIMITS} == PIXEL_LIMITS
        assert documented["platform"]["enum"] == list(PLATFORMS)


async def test_documents_qr_codes_and_their_images(document: Document, key: str) -> None:
    link = await document.running.link(key)
    shown = (await document.ask(key, "qrcodes_get", link["id"])).json()["data"]
    assert list(shown) == list(QRCODE) == list(document.content["components"]["schemas"]["QrCode"]["properties"])
    fields = {name: plain(field) for name, field in document.body("qrcodes_set_style")["properties"].items()}
    assert set(fields) == set(QRCODE) & set(fields)
    assert (fields["level"]["enum"], fields["style"]["enum"]) == (list(LEVELS), list(STYLES))
    for name, field in fields.items():
        for sent in (shown[name], *(field[bound] for bound in ("minimum", "maximum") if bound in field)):
            assert list(problems(document.content, field, sent)) == []
            assert (await document.ask(key, "qrcodes_set_style", link["id"], json={name: sent})).json()["data"][
                name
            ] == sent
        wrong_values = ("red", 1.5, True, *([field["maximum"] + 1] if "maximum" in field else []))
        for wrong in (each for each in wrong_values if list(problems(document.content, field, each))):
            documented = await document.ask(key, "qrcodes_set_style", link["id"], json={name: wrong})
            assert list(documented.json()["error"]["errors"]) == [name]
    operation = document.operation("qrcodes_image")
    assert operation["security"] == []
    for url in (shown["image_url"], shown["svg_url"]):
        picture = await document.running.client.get(url)
        assert picture.headers["content-type"] in operation["responses"]["200"]["content"]
    documented = {(each["name"], each["in"]) for each in operation["parameters"]}
    assert documented == {("id", "path"), ("format", "path"), ("v", "query"), ("signature", "query")}


async def test_documents_the_life_of_a_webhook(document: Document, key: str) -> None:
    sent = {"url": RECEIVER, "event_types": list(EVENT_TYPES)}
    assert list(problems(document.content, document.body("webhooks_create"), sent)) == []
    made = (await document.ask(key, "webhooks_create", json=sent)).json()["data"]
    assert list(made) == [*WEBHOOK, "secret"]
    shown = {name: made[name] for name in WEBHOOK}
    assert (await document.ask(key, "webhooks_get", made["id"])).json()["data"] == shown
    assert (await document.ask(key, "webhooks_list")).json()["data"] == [shown]
    asked = (await document.ask(key, "webhooks_send_test", made["id"])).json()["data"]
    assert list(asked) == list(DELIVERY)
    assert (await document.ask(key, "webhooks_list_deliveries", made["id"])).json()["data"] == [asked]
    assert (await document.ask(key, "webhooks_redeliver", made["id"], asked["id"])).json()["data"] == asked
    assert (await document.ask(key, "webhooks_delete", made["id"])).status_code == 204
    for endpoint in (
        "webhooks_get",
        "webhooks_list_deliveries",
        "webhooks_redeliver",
        "webhooks_send_test",
        "webhooks_delete",
    ):
        assert (await document.ask(key, endpoint, made["id"], asked["id"])).status_code == 404


async def test_documents_the_limits_of_a_webhook(document: Document, key: str) -> None:
    url, types = (document.body("webhooks_create")["properties"][name] for name in ("url", "event_types"))
    event_type = document.field(types["items"])
    assert (url["maxLength"], types["minItems"], event_type["enum"]) == (WEBHOOK_URL, 1, list(EVENT_TYPES))
    assert FORM not in document.operation("webhooks_create")["requestBody"]["content"]
    for wrong in ({}, {"url": None, "event_types": None}, {"url": "http://127.0.0.1/", "event_types": []}):
        assert list(problems(document.content, document.body("webhooks_create"), wrong)) != []
        documented = (await document.ask(key, "webhooks_create", json=wrong)).json()["error"]["errors"]
        assert set(documented) == {"url", "event_types"}


async def test_documents_the_life_of_a_domain(document: Document, key: str) -> None:
    sent = {"hostname": "go.brand.test"}
    assert list(problems(document.content, document.body("domains_create"), sent)) == []
    made = (await document.ask(key, "domains_create", json=sent)).json()["data"]
    assert list(made) == list(DOMAIN)
    assert (await document.ask(key, "domains_get", made["id"])).json()["data"] == made
    assert (await document.ask(key, "domains_list")).json()["data"] == [made]
    for name in ("root_url", "not_found_url"):
        for length, status in ((DOMAIN_URL, 200), (DOMAIN_URL + 1, 422)):
            address = "https://brand.example/".ljust(length, "a")
            answer = await document.ask(key, "domains_update", made["id"], json={name: address})
            assert answer.status_code == status
        assert plain(document.body("domains_update")["properties"][name])["maxLength"] == DOMAIN_URL
    for name, field in document.body("domains_update")["properties"].items():
        answer = await document.ask(key, "domains_update", made["id"], json={name: None})
        assert answer.status_code == (200 if "null" in field["type"] else 422), name
    assert (await document.ask(key, "domains_verify", made["id"])).json()["data"]["status"] == "verifying"
    assert [
        (await document.ask(key, "domains_create", json={"hostname": name})).status_code for name in ("co.uk", "")
    ] == [
        406,
        422,
    ]
    assert (await document.ask(key, "domains_delete", made["id"])).status_code == 204
    for endpoint in ("domains_get", "domains_update", "domains_verify", "domains_delete"):
        assert (await document.ask(key, endpoint, made["id"], json={})).status_code == 404


def test_documents_the_statuses_of_a_domain(document: Document) -> None:
    schemas = document.content["components"]["schemas"]
    assert list(schemas["Domain"]["properties"]) == list(DOMAIN)
    assert document.field(schemas["Domain"]["properties"]["status"])["enum"] == list(DOMAIN_STATUSES)
    assert document.field(schemas["Tls"]["properties"]["status"])["enum"] == list(TLS_STATUSES)


async def test_documented_parameters_of_deliveries_are_read(document: Document, key: str) -> None:
    webhook, _ = await document.running.webhook(key)
    parameters = document.operation("webhooks_list_deliveries")["parameters"]
    documented = {each["name"]: document.field(each["schema"]) for each in parameters if each["in"] == "query"}
    assert list(documented) == ["page", "per_page", "status", "event"]
    assert documented["status"]["enum"] == list(DELIVERY_STATUSES)
    assert documented["event"]["enum"] == [*EVENT_TYPES, "webhook.test"]
    answer = await document.ask(key, "webhooks_list_deliveries", webhook["id"], params=dict.fromkeys(documented, "x"))
    assert set(answer.json()["error"]["errors"]) == set(documented)


async def test_documents_every_error_response(document: Document, key: str) -> None:
    running = document.running
    unpaid = await running.key(await running.account("past_due"), SCOPES)
    weak = await running.key(await running.account(), ())
    documented = [
        await document.ask(None, "links_list"),
        await document.ask(unpaid, "links_create", json={}),
        await document.ask(weak, "links_delete", "1"),
        await document.ask(key, "links_get", str(uuid4())),
        await document.ask(key, "links_update", "1", json={}),
        await document.ask(key, "links_create", json={"slug": 1, "tags": [1]}),
        await document.ask(key, "links_list", params={"status": "x"}),
        await document.ask(key, "links_create", content=bytes(2 << 20)),
    ]
    for _ in range(REQUESTS_PER_MINUTE):
        last = await document.ask(key, "account_get")
    assert [answer.status_code for answer in [*documented, last]] == [401, 402, 403, 404, 404, 422, 422, 413, 429]


def test_documents_the_error_statuses_of_each_endpoint(document: Document) -> None:
    always = {"401", "402", "429", "default"}
    assert document.statuses("account_get") == document.statuses("keys_list") == always | {"200"}
    assert document.statuses("links_list") == always | {"200", "403", "422"}
    assert document.statuses("links_create") == always | {"201", "403", "409", "413", "422"}
    assert document.statuses("links_get") == always | {"200", "304", "403", "404"}
    assert document.statuses("links_update") == always | {"200", "403", "404", "412", "413", "422"}
    assert document.statuses("links_delete") == always | {"204", "403", "404", "412", "422"}
    assert all(document.statuses(each) == always | {"200", "403", "404", "422"} for each in COUNTED[:3])
    assert document.statuses("stats_get") == document.statuses("clicks_list") == always | {"200", "403", "404", "422"}
    assert document.statuses("pixels_list") == document.statuses("webhooks_list") == always | {"200", "403", "422"}
    for of_links, of_pixels in (
        ("links_create", "pixels_create"),
        ("links_get", "pixels_get"),
        ("links_update", "pixels_update"),
        ("links_delete", "pixels_delete"),
    ):
        assert document.statuses(of_pixels) == document.statuses(of_links)
    assert document.statuses("links_bulk_create") == always | {"200", "403", "409", "413", "422"}
    assert all(
        document.statuses(each) == always | {"200", "403", "413", "422"}
        for each in ("links_bulk_update", "links_bulk_delete")
    )
    assert document.statuses("qrcodes_get") == document.statuses("links_get")
    assert document.statuses("qrcodes_set_style") == (document.statuses("links_update") | {"201", "409"}) - {"200"}
    assert document.statuses("qrcodes_image") == {"200", "304", "403", "404", "default"}
    assert document.statuses("webhooks_create") == document.statuses("links_create")
    assert document.statuses("webhooks_get") == document.statuses("links_get")
    assert document.statuses("webhooks_delete") == document.statuses("links_delete")
    assert document.statuses("webhooks_list_deliveries") == always | {"200", "403", "404", "422"}
    assert document.statuses("domains_list") == document.statuses("webhooks_list")
    assert document.statuses("domains_create") == document.statuses("links_create") | {"406"}
    assert document.statuses("domains_get") == document.statuses("links_get")
    assert document.statuses("domains_update") == document.statuses("links_update")
    assert document.statuses("domains_delete") == document.statuses("links_delete")
    assert document.statuses("domains_verify") == document.statuses("webhooks_send_test")
    assert (
        document.statuses("webhooks_redeliver")
        == document.statuses("webhooks_send_test")
        == always | {"202", "403", "404", "409", "422"}
    )


def test_references_resolve_and_no_schema_is_unused(document: Document) -> None:
    named = {value for name, value in members(document.content) if name == "$ref"}
    for reference in named:
        assert resolved(document.content, reference)
    components = document.content["components"]
    assert named == {
        f"#/components/{kind}/{name}" for kind in ("schemas", "responses", "headers") for name in components[kind]
    }


def test_operation_ids_do_not_change(document: Document) -> None:
    """Generated clients name their functions after them."""
    assert [document.operation(name)["operationId"] for name in ALL] == list(ALL)


def test_every_operation_has_a_summary_and_a_described_group(document: Document) -> None:
    """Each operation says in words what it does, in a group that says in words what it is about."""
    groups = {group["name"]: group for group in document.content["tags"]}
    assert [group["x-displayName"] for group in groups.values()] == [
        "Links",
        "Campaign templates",
        "Tags",
        "QR codes",
        "Clicks and statistics",
        "Shared statistics",
        "Domains",
        "Pixels",
        "Webhooks",
        "API keys",
        "Account",
    ]
    assert all(group["description"].endswith(".") for group in groups.values())
    documented = [document.operation(name) for name in ALL]
    assert len({operation["summary"] for operation in documented}) == len(documented)
    assert {tag for operation in documented for tag in operation["tags"]} == set(groups)
    assert all(len(operation["tags"]) == 1 for operation in documented)
    assert [server["url"] for server in document.content["servers"]] == [BASE_URL]


def test_examples_match_their_schemas(document: Document) -> None:
    bodies = [document.operation(name).get("requestBody") for name in ENDPOINTS]
    examples = [body["content"][JSON] for body in bodies if body and JSON in body["content"]]
    assert len(examples) == 26
    for each in examples:
        assert list(problems(document.content, each["schema"], each["example"])) == []


def test_documents_key_and_scope_of_each_endpoint(document: Document) -> None:
    assert document.content["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    for name, endpoint in ENDPOINTS.items():
        scopes = [endpoint.scope] if endpoint.scope else []
        assert document.operation(name)["security"] == [{"bearer": scopes}], name


def test_documents_the_headers_of_requests(document: Document) -> None:
    table = next(route for route in document.running.app.routes if isinstance(route, EndpointTable))
    has_version = {endpoint.operation for endpoint in table.endpoints if endpoint.shows}
    conditions = {"GET": ["If-None-Match"], **{method: ["If-Match"] for method in ("PATCH", "PUT", "DELETE")}}
    others = {"links_upsert": ["If-Match", "If-None-Match"], "qrcodes_set_style": ["If-Match"]}
    for name, endpoint in ENDPOINTS.items():
        documented = document.operation(name).get("parameters", [])
        headers = [each["name"] for each in documented if each["in"] == "header"]
        expected = others.get(name) or (conditions.get(endpoint.method, []) if name in has_version else [])
        keyed = ["Idempotency-Key"] if endpoint.method == "POST" and name not in FILES else []
        assert headers == [*keyed, *expected], name


def test_path_ids_are_uuids(document: Document) -> None:
    for name, endpoint in ENDPOINTS.items():
        documented = document.operation(name).get("parameters", [])
        in_path = [each for each in documented if each["in"] == "path"]
        assert [f"{{{each['name']}}}" for each in in_path] == re.findall(r"{\w+}", endpoint.path), name
        assert all(each["schema"].get("format") == "uuid" for each in in_path) is (name != "links_upsert"), name


async def test_documented_parameters_of_links_are_read(document: Document, key: str) -> None:
    documented = {
        each["name"]: document.field(each["schema"]) for each in document.operation("links_list")["parameters"]
    }
    assert list(documented) == [
        *("page", "per_page", "search", "external_id", "tag", "hostname", "status"),
        *("health", "unused_since", "expired_before"),
    ]
    assert documented["status"]["enum"] == ["active", "inactive"]
    for name in documented:
        answer = await document.ask(key, "links_list", params={name: "\x01"})
        assert set(answer.json()["error"]["errors"]) == {name}


async def test_empty_parameters_count_as_absent(document: Document, key: str) -> None:
    """On every list, and with two of a name. Only without the ID of a link, a list would have all links."""
    running = document.running
    (webhook, _), domain = await running.webhook(key), await running.domain(key)
    owned = {"webhooks": webhook, "domains": domain, "links": await running.link(key)}
    asked = 0
    for operation, endpoint in ENDPOINTS.items():
        parameters = document.operation(operation).get("parameters", ())
        names = [each["name"] for each in parameters if each["in"] == "query" and each["name"] != "link_id"]
        if names:
            id_ = owned[endpoint.path.split("/")[2]]["id"] if "{id}" in endpoint.path else ""
            reader = await running.key(await running.account(), SCOPES) if "{id}" not in endpoint.path else key
            plain_answer = await document.ask(reader, operation, id_)
            empty = await document.ask(reader, operation, id_, params=[(name, "") for name in (*names, *names)])
            assert (plain_answer.status_code, empty.status_code) == (200, 200), operation
            assert _without_now(empty.json()) == _without_now(plain_answer.json()), operation
            asked += 1
    assert asked == 14


def _without_now(answer: dict[str, Any]) -> dict[str, Any]:
    """Without where a period that nobody named ends."""
    data = answer["data"]
    return answer | {"data": {**data, "to": ""} if isinstance(data, dict) else data}


async def test_documented_patterns_match_the_refused_control_characters(document: Document) -> None:
    """In every text of every body: where the schema takes a character, so does the endpoint."""
    running = document.running
    account = await running.account()
    owner = await running.key(account, SCOPES)
    link, pixel, domain = await running.link(owner), await running.pixel(owner), await running.domain(owner)
    for endpoint, id_ in (
        ("links_create", ""),
        ("links_update", link["id"]),
        ("pixels_create", ""),
        ("pixels_update", pixel["id"]),
        ("webhooks_create", ""),
        ("domains_create", ""),
        ("domains_update", domain["id"]),
        ("qrcodes_set_style", link["id"]),
    ):
        key = await running.key(account, SCOPES)  # with a budget of its own
        schema = document.body(endpoint)
        for code in (*range(0x20), 0x7F):
            sent = {
                name: _with_inside(VALID.get(name, "text"), chr(code))
                for name, field in schema["properties"].items()
                if "enum" not in plain(field)
                and plain(field).get("format") in {None, "uri"}
                and name not in {"pixel_ids", "event_types"}
                and plain(field)["type"] not in {"integer", "number", "boolean"}
            }
            declared = {
                name for name, text in sent.items() if [*problems(document.content, schema["properties"][name], text)]
            }
            answer = await document.ask(key, endpoint, id_, json=sent)
            refused = {name.partition(".")[0] for name in answer.json()["error"]["errors"]}
            assert refused & sent.keys() == declared, (endpoint, code)
            assert sent.keys() - declared <= {"og_description"}, (endpoint, code)


def _with_inside(value: Any, character: str) -> Any:
    """In each text of the value."""
    if isinstance(value, dict):
        return {name: _with_inside(each, character) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_inside(each, character) for each in value]
    return value[:4] + character + value[4:]


def test_link_schema_has_the_fields_of_the_specification(document: Document) -> None:
    assert list(document.content["components"]["schemas"]["Link"]["properties"]) == list(LINK)


def test_documented_lengths_are_the_limits(document: Document) -> None:
    for endpoint, name in itertools.product(("links_create", "links_update"), LINK_LIMITS):
        field = plain(document.body(endpoint)["properties"][name.partition(".")[0]])
        if "." in name:
            field = plain(field.get("items") or field["properties"][name.partition(".")[2]])
        assert field["maxLength"] == LINK_LIMITS[name], name


async def test_documented_nullability_is_enforced(document: Document, key: str) -> None:
    link = await document.running.link(key)
    for name, field in document.body("links_update")["properties"].items():
        sent = {name: None} | ({"destination_url": link["destination_url"]} if name == "utm_params" else {})
        answer = await document.ask(key, "links_update", link["id"], json=sent)
        assert answer.status_code == (200 if "null" in field["type"] else 422), name


async def test_documented_form_fields_are_accepted(document: Document, key: str) -> None:
    image = BytesIO()
    Image.new("RGB", (1, 1)).save(image, "PNG")
    values = {
        "destination_url": document.running.website.url,
        "slug": "form",
        "title": "A title",
        "og_title": "Shown",
        "og_description": "Told",
        "og_image": "https://example.com/image.png",
        "tags[]": "one",
        "expires_at": "2999-12-31T23:59:59Z",
        **{f"utm_params[{name}]": name for name in UTM_KEYS},
    }
    form = document.body("links_create", FORM)
    assert form["required"] == ["destination_url"]
    assert set(form["properties"]) == {*values, "og_image_file", "hostname", "pixel_ids[]"}
    parts = [(name, (None, value)) for name, value in values.items()]
    answer = await document.ask(
        key, "links_create", files=[*parts, ("og_image_file", ("a.png", image.getvalue(), "image/png"))]
    )
    link = answer.json()["data"]
    assert (link["slug"], link["tags"], link["utm_params"]) == ("form", ["one"], {name: name for name in UTM_KEYS})
    assert re.search(r"/media/\w+\.png$", link["og_image"])


@pytest.mark.parametrize("status", [*CODES, 400, 503])
def test_error_envelopes_match_their_schemas(document: Document, status: int) -> None:
    documented = envelope.enveloped(status, "Why.", {"slug": ["No."]} if status == 422 else None)
    schema = document.response(document.operation("links_create"), status)["content"][JSON]["schema"]
    assert list(problems(document.content, schema, json.loads(bytes(documented.body)))) == []


def plain(field: dict[str, Any]) -> dict[str, Any]:
    """Without null."""
    return field | {"type": field["type"][0]} if isinstance(field["type"], list) else field


def members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from members(each)
