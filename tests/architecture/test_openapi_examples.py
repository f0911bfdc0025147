"""The OpenAPI document has a description and an example of everything, every example is valid, and so are events."""

import ast
import json
import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from architecture.facts import EVENT_TYPES, SCOPES
from architecture.json_schema import problems, resolved
from architecture.running import RECEIVER, RunningApp
from resources.clicks.visited import new_click, new_link

from waypost.resources.clicks.intake import record_events
from waypost.resources.webhooks.model import webhook_deliveries
from waypost.resources.webhooks.outbox import build_payload

JSON = "application/json"
HEADERS = {"Idempotency-Key", "If-Match"}
Document = dict[str, Any]


@pytest.fixture(scope="module")
def served() -> Document:
    """The same for every test, and made once."""
    return {}


@pytest.fixture
async def document(running: RunningApp, served: Document) -> Document:
    if not served:
        served |= (await running.client.get("/api/openapi.json")).json()
    return served


def operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    """Yield method, path or event, and operation."""
    for path, methods in (*document["paths"].items(), *document["webhooks"].items()):
        for method, operation in methods.items():
            yield method.upper(), path, operation


def media(document: Document) -> Iterator[tuple[str, Document]]:
    """Yield where each JSON body and answer is, and its description."""
    for method, path, operation in operations(document):
        if JSON in operation.get("requestBody", {}).get("content", {}):
            yield f"{method} {path}", operation["requestBody"]["content"][JSON]
        for status, response in operation["responses"].items():
            described = resolved(document, response["$ref"]) if "$ref" in response else response
            if JSON in described.get("content", {}):
                yield f"{method} {path} {status}", described["content"][JSON]


def test_each_field_has_a_description_and_an_example(document: Document) -> None:
    schemas = document["components"]["schemas"]
    missing = []
    for name, schema in schemas.items():
        for field, each in schema.get("properties", {}).items():
            if not each.get("description"):
                missing.append(f"{name}.{field}: description")
            if not each.get("examples") and not has_fields(document, each):
                missing.append(f"{name}.{field}: example")
        if "enum" in schema and not (schema.get("description") and schema.get("examples")):
            missing.append(name)
    assert missing == []


def has_fields(document: Document, schema: Document) -> bool:
    """Whether the value, or each of a list, has fields with examples of their own."""
    named = [each["$ref"] for each in (schema, schema.get("items", {}), *schema.get("anyOf", ())) if "$ref" in each]
    return any("properties" in resolved(document, name) or "examples" in resolved(document, name) for name in named)


def test_examples_of_schemas_are_valid(document: Document) -> None:
    for name, schema in document["components"]["schemas"].items():
        for example in schema.get("examples", ()):
            assert list(problems(document, schema, example)) == [], name
        for field, each in schema.get("properties", {}).items():
            for example in each.get("examples", ()):
                assert list(problems(document, each, example)) == [], f"{name}.{field}"


def test_each_body_and_answer_has_a_valid_example(document: Document) -> None:
    checked = 0
    for where, content in media(document):
        examples = [each["value"] for each in content.get("examples", {}).values()] or [content["example"]]
        for example in examples:
            assert list(problems(document, content["schema"], example)) == [], where
            checked += 1
    assert checked > 300


def test_parameters_and_headers_have_descriptions_and_valid_examples(document: Document) -> None:
    described = [each for _, _, operation in operations(document) for each in operation.get("parameters", ())]
    for each in [*described, *document["components"]["headers"].values()]:
        assert each["description"], each
        assert list(problems(document, each["schema"], each["example"])) == [], each


def test_every_object_and_list_of_values_has_a_name(document: Document) -> None:
    """Otherwise generators make up names, such as `PostApiV1LinksBody`."""

    def unnamed(value: Any, where: str) -> Iterator[str]:
        if isinstance(value, dict):
            if "enum" in value or isinstance(value.get("properties"), dict):
                yield where
            for key, each in value.items():
                if key not in {"example", "examples", "x-codeSamples"}:
                    yield from unnamed(each, f"{where}.{key}")
        elif isinstance(value, list):
            for each in value:
                yield from unnamed(each, where)

    schemas = document["components"]["schemas"]
    inner = [list(unnamed(list(schema.get("properties", {}).values()), name)) for name, schema in schemas.items()]
    outer = [list(unnamed({key: document[key] for key in ("paths", "webhooks")}, ""))]
    assert [each for found in inner + outer for each in found] == []
    assert {"Link", "LinkCreate", "LinkUpdate", "LinkPage", "ValidationError", "LinkStatus", "Device"} <= set(schemas)


def test_each_operation_says_what_it_does(document: Document) -> None:
    for method, path, operation in operations(document):
        assert operation["summary"], (method, path)
        assert operation["description"].endswith("."), (method, path)
    assert document["info"]["contact"]["url"].startswith("https://")
    assert document["info"]["license"]["identifier"] == "Apache-2.0"


def test_only_bodies_with_a_file_are_forms(document: Document) -> None:
    forms = {
        operation["operationId"]
        for _, _, operation in operations(document)
        if "multipart/form-data" in operation.get("requestBody", {}).get("content", {})
    }
    assert forms == {"links_create", "links_update", "links_upsert", "qrcodes_set_logo", "domains_set_logo"}


async def test_describes_each_event_as_it_is_sent(running: RunningApp, document: Document) -> None:
    account = await running.account()
    key = await running.key(account, SCOPES)
    headers = {"Authorization": f"Bearer {key}"}
    hook = {"url": RECEIVER, "event_types": list(EVENT_TYPES)}
    made = (await running.client.post("/api/v1/webhooks", json=hook, headers=headers)).json()["data"]
    await running.client.post(f"/api/v1/webhooks/{made['id']}/test", headers=headers)
    link = await running.link(key)
    async with running.db.read() as tx:
        rows = await tx.execute(webhook_deliveries.select().where(webhook_deliveries.c.webhook_id == UUID(made["id"])))
        sent = [json.loads(row.body) for row in rows]
    click = new_click(new_link(account, id=UUID(link["id"])), datetime.now(UTC), pixels=[("facebook", uuid4())])
    events = *record_events._click_events(click), *record_events._pixel_events(click)
    sent += [json.loads(build_payload(uuid4(), event)) for event in events]
    assert {event["event"] for event in sent} == set(document["webhooks"]) == {*EVENT_TYPES, "webhook.test"}
    for event in sent:
        content = document["webhooks"][event["event"]]["post"]["requestBody"]["content"][JSON]
        assert list(problems(document, content["schema"], event)) == []


def test_samples_say_what_the_operation_does(document: Document) -> None:
    for method, path, operation in operations({**document, "webhooks": {}}):
        curl, *clients = operation["x-codeSamples"]
        words = shlex.split(curl["source"])
        url = httpx.URL(words[1])
        assert re.fullmatch(re.sub(r"{\w+}", "[^/]+", path), url.path), path
        assert (words[words.index("-X") + 1] if "-X" in words else "GET") == method
        content = operation.get("requestBody", {}).get("content", {}).get(JSON)
        assert (json.loads(words[words.index("-d") + 1]) if content else None) == (content and content["example"])
        assert len(clients) == (2 if operation["security"] else 0)
        for sample in clients:
            group, _, name = operation["operationId"].partition("_")
            camel_case = re.sub(r"_(\w)", lambda found: found[1].upper(), name)
            assert f".{group}.{name if sample['label'] == 'Python' else camel_case}(" in sample["source"]
            if sample["label"] == "Python":
                ast.parse(sample["source"])


async def test_examples_of_problems_are_what_is_answered(running: RunningApp, document: Document) -> None:
    """A resource that is not there comes before the fields of a body, as the introduction says."""
    checked = 0
    for method, path, operation in operations({**document, "webhooks": {}}):
        if "422" not in operation["responses"]:
            continue
        content = operation["responses"]["422"]["content"][JSON]
        ((field, (message,)),) = content["example"]["error"]["errors"].items()
        key = await running.key(await running.account(), SCOPES)
        headers = {"Authorization": f"Bearer {key}"}
        link, domain = await running.link(key), await running.domain(key)
        pixel, (webhook, _) = await running.pixel(key), await running.webhook(key)
        share = await running.share(key)
        template, tag = await running.utm_template(key), await running.tag(key)
        ids = {
            "links": link,
            "domains": domain,
            "pixels": pixel,
            "webhooks": webhook,
            "shares": share,
            "utm-templates": template,
            "tags": tag,
        }
        url = path.replace("{id}", ids.get(path.split("/")[3], link)["id"])
        sent: dict[str, Any] = {"headers": headers | ({field: " "} if field in HEADERS else {})}
        if "requestBody" in operation:
            (described, *_) = operation["requestBody"]["content"].values()
            required = "required" in resolved(document, described["schema"]["$ref"])
            sent["json"] = {} if required else {field: 5 if field == "ignore_case" else True}
        elif field not in HEADERS:
            sent["params"] = {field: "\x01"}
        answer = await running.client.request(method, url.replace("{delivery_id}", str(uuid4())), **sent)
        assert answer.json()["error"] | {"errors": {}} == content["example"]["error"] | {"errors": {}}
        assert answer.json()["error"]["errors"][field] == [message], (method, path)
        if "{id}" in path and "requestBody" in operation:
            missing = await running.client.request(method, path.replace("{id}", str(uuid4())), **sent)
            assert missing.status_code == 404, (method, path)
        checked += 1
    assert checked > 25
