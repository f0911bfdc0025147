"""The code for n8n and Zapier: it accepts what the service delivers, and nothing else; and it creates links."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from journeys.service import Service, Website
from resources.webhooks.receiver import Receiver

from integrations.programs import INTEGRATIONS, evaluate
from waypost.kit.signing import signature

# `given`: code, inputs, and seconds that the clock is wrong
ZAPIER = """
const Code = (async () => {}).constructor;
const step = new Code("inputData", "require", given.code);
if (given.now) Date.now = () => 1000 * given.now;
const results = [];
for (const input of given.inputs) results.push(await step(input, require).catch((error) => error.message));
return results;
"""
# n8n's own node between both codes signs with its settings
N8N = """
const { createHmac } = require("node:crypto");
const Code = (async () => {}).constructor;
const [read, check] = given.codes.map((code) => new Code("$input", code));
Date.now = () => 1000 * given.now;
const results = [];
for (const { signature, body, secret } of given.inputs) {
  const helpers = { getBinaryDataBuffer: async () => Buffer.from(body) };
  const item = (json) => ({ first: () => ({ json }) });
  const headers = signature === null ? {} : { "x-signature": signature };
  const [{ json }] = await read.call({ helpers }, item({ headers }));
  const expected = createHmac(given.crypto.type, secret).update(`${json.t}.${json.body}`).digest(given.crypto.encoding);
  const [checked] = await check.call({}, item({ ...json, [given.crypto.dataPropertyName]: expected }));
  results.push(checked.json.isGenuine ? checked.json.delivery : null);
}
return results;
"""
Input = dict[str, str | None]
Check = Callable[..., list[Any]]


def zapier(inputs: list[Input], directory: Path, now: int) -> list[Any]:
    code = (INTEGRATIONS / "zapier" / "check-signature.js").read_text()
    found = evaluate(ZAPIER, {"code": code, "inputs": inputs, "now": now}, directory)
    return [None if isinstance(each, str) else each for each in found]


def n8n(inputs: list[Input], directory: Path, now: int) -> list[Any]:
    workflow = json.loads((INTEGRATIONS / "n8n" / "receive-events.json").read_text())
    settings = {node["name"]: node["parameters"] for node in workflow["nodes"]}
    assert settings["Webhook"]["options"] == {"rawBody": True}
    assert settings["Sign it"]["value"] == "={{ $json.t }}.{{ $json.body }}"
    codes = [settings[name]["jsCode"] for name in ("Read the delivery", "Compare the signatures")]
    given = {"codes": codes, "crypto": settings["Sign it"], "inputs": inputs, "now": now}
    return evaluate(N8N, given, directory)


each_program = pytest.mark.parametrize("check", [n8n, zapier])


@pytest.fixture(scope="module")
def delivered(service: Service, receiver: Receiver, website: Website) -> Input:
    """What the service sent."""
    subscription = {"url": receiver.url("/programs"), "event_types": ["link.created"]}
    secret = service.client.post("/api/v1/webhooks", json=subscription).json()["data"]["secret"]
    link = {"destination_url": website.url, "title": "Grüße 🚀 100 % <b>"}
    assert service.client.post("/api/v1/links", json=link).status_code == 201
    [received] = receiver.wait_for("/programs", 1)
    return {"signature": received.headers["X-Signature"], "body": received.body.decode(), "secret": secret}


def signed_at(delivery: Input) -> int:
    return int(str(delivery["signature"]).removeprefix("t=").partition(",")[0])


@each_program
def test_accepts_what_the_service_sends(check: Check, delivered: Input, tmp_path: Path) -> None:
    assert delivered["body"]
    [delivery] = check([delivered], tmp_path, signed_at(delivered))
    assert delivery == json.loads(delivered["body"])
    assert delivery["data"]["title"] == "Grüße 🚀 100 % <b>"
    assert check([delivered], tmp_path, signed_at(delivered) - 290) == [delivery]


@each_program
@pytest.mark.parametrize("late", [-310, 400])
def test_refuses_another_time(check: Check, delivered: Input, tmp_path: Path, late: int) -> None:
    assert check([delivered], tmp_path, signed_at(delivered) + late) == [None]


@each_program
def test_refuses_all_other_requests(check: Check, delivered: Input, tmp_path: Path) -> None:
    signed, body, secret = delivered["signature"], delivered["body"], delivered["secret"]
    assert signed
    assert body
    assert secret
    t, _, v1 = signed.removeprefix("t=").partition(",v1=")
    wrong = {
        "no signature": None,
        "an empty one": "",
        "words": "genuine",
        "no digits": f"t={t},v1=",
        "other digits": f"t={t},v1={'0' * 64}",
        "a digit less": signed[:-1],
        "a digit more": signed + "0",
        "upper case": f"t={t},v1={v1.upper()}X",
        "another time": f"t={int(t) + 1},v1={v1}",
        "another secret": signature("whsec_other", int(t), body.encode()),
        "another body": signature(secret, int(t), body.encode() + b" "),
    }
    inputs: list[Input] = [{"signature": text, "body": body, "secret": secret} for text in wrong.values()]
    inputs += [delivered | {"body": f"{body} "}, delivered | {"body": json.dumps(json.loads(body))}]
    assert check(inputs, tmp_path, int(t)) == [None] * len(inputs)


def create(service: Service, directory: Path, *inputs: dict[str, str]) -> list[Any]:
    code = (INTEGRATIONS / "zapier" / "create-link.js").read_text()
    given = [{"base_url": service.base_url, "api_key": service.key, "title": ""} | each for each in inputs]
    return evaluate(ZAPIER, {"code": code, "inputs": given}, directory)


def test_zapier_creates_a_link_once(service: Service, website: Website, tmp_path: Path) -> None:
    same = {"url": f"{website.url}/zap", "title": "Zap: ä", "id": "event 1"}
    first, second, other, wrong, refused = create(
        service, tmp_path, same, same, same | {"id": ""}, same | {"id": "2", "url": "x"}, {"url": "", "api_key": "no"}
    )
    assert (first["short_url"], first["title"]) == (f"https://{first['hostname']}/{first['slug']}", "Zap: ä")
    assert (second, other["id"] == first["id"]) == (first, False)
    assert "destination_url: " in wrong
    assert "key" in refused


def test_n8n_sends_what_the_api_accepts(service: Service, website: Website) -> None:
    workflow = json.loads((INTEGRATIONS / "n8n" / "create-link.json").read_text())
    [request] = [node["parameters"] for node in workflow["nodes"] if node["name"] == "Create the link"]
    assert request["url"].endswith("/api/v1/links")
    assert request["jsonBody"] == "={{ JSON.stringify({ destination_url: $json.url, title: $json.title }) }}"
    headers = {each["name"]: each["value"] for each in request["headerParameters"]["parameters"]}
    assert headers == {
        "Accept": "application/json",
        "Idempotency-Key": "=n8n-{{ $workflow.id }}-{{ $execution.id }}-{{ $itemIndex }}",
    }
    body = {"destination_url": f"{website.url}/n8n", "title": "A"}
    answers = [service.client.post("/api/v1/links", json=body, headers={"Idempotency-Key": "n8n-a-1-0"}) for _ in "ab"]
    assert answers[0].json() == answers[1].json()
