"""The package for n8n, as published, against the service. `make n8n-node` runs it with n8n's own package."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from architecture.code import ROOT
from journeys.service import Service, Website
from python_client.fault_proxy import FaultProxy
from resources.webhooks.receiver import Receiver

from clients.typescript.generator.modules import NODE_MODULES
from integrations.programs import run_node

STUB = """
class NodeApiError extends Error {
  constructor(node, response, { message, description, httpCode }) {
    super(message);
    Object.assign(this, { name: "NodeApiError", node, description, httpCode });
  }
}
module.exports = { NodeConnectionTypes: { Main: "main" }, NodeApiError, NodeOperationError: Error };
"""


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpacked from the file that `npm publish` would upload."""
    if not (NODE_MODULES / ".bin" / "esbuild").exists():
        pytest.skip("esbuild is missing: make test installs it")
    directory = tmp_path_factory.mktemp("n8n")
    environment = {**os.environ, "PATH": f"{NODE_MODULES.parents[1] / 'bin'}:{os.environ['PATH']}"}
    subprocess.run([ROOT / "scripts" / "build-n8n-node", directory], check=True, env=environment)
    [file] = directory.iterdir()
    subprocess.run(["tar", "-xf", file], cwd=directory, check=True)
    modules = directory / "package" / "node_modules"
    if "N8N_WORKFLOW" in os.environ:
        modules.symlink_to(os.environ["N8N_WORKFLOW"])
    else:
        (modules / "n8n-workflow").mkdir(parents=True)
        (modules / "n8n-workflow" / "index.js").write_text(STUB)
    return directory / "package"


class Node:
    def __init__(self, package: Path, service: Service) -> None:
        self.package = package
        self.base_url = service.base_url
        self.api_key = service.new_key()
        self.static: dict[str, Any] = {}

    def run(self, node: str, *steps: str, **given: Any) -> Any:
        credentials = {"baseUrl": f"{self.base_url}/", "apiKey": self.api_key}
        request = {"package": str(self.package), "node": node, "steps": steps, "credentials": credentials}
        program = Path(__file__).parent / "n8n_node.cjs"
        done = run_node(program, stdin=json.dumps({"static": self.static, **request, **given}))
        assert done.returncode == 0, done.stderr
        ended = json.loads(done.stdout.splitlines()[-1])
        self.static = ended["static"]
        return ended

    def execute(self, *items: dict[str, Any], **given: Any) -> Any:
        """The items that come out, or the error."""
        request = {"parameters": items, "items": [{"json": {}}] * len(items)}
        [result] = self.run("Waypost", "execute", **request, **given)["results"]
        return result


@pytest.fixture
def node(package: Path, service: Service) -> Node:
    return Node(package, service)


def link(operation: str, **parameters: Any) -> dict[str, Any]:
    return {"resource": "link", "operation": operation, **parameters}


def test_creates_changes_and_deletes_links(node: Node, service: Service, website: Website) -> None:
    fields = {"slug": "from-n8n", "tags": "a, b,", "title": "", "expires_at": None}
    create = link("create", destination_url=f"{website.url}/n8n", additionalFields=fields)
    [made, other] = node.execute(create, link("create", destination_url=f"{website.url}/n8n-2"))
    assert [each["pairedItem"] for each in (made, other)] == [{"item": 0}, {"item": 1}]
    made = made["json"]
    assert (made["slug"], made["tags"]) == ("from-n8n", ["a", "b"])
    assert node.execute(create)[0]["json"] == made  # tried again
    [changed] = node.execute(link("update", linkId=made["id"], changes={"title": "Changed", "tags": ""}))
    assert (changed["json"]["title"], changed["json"]["tags"]) == ("Changed", [])
    assert node.execute(link("get", linkId=made["id"])) == [changed]
    assert node.execute(link("delete", linkId=made["id"]))[0]["json"] == {"deleted": True}
    assert service.client.get(f"/api/v1/links/{made['id']}").status_code == 404


def test_keeps_links_in_step_by_their_external_ids(node: Node, website: Website) -> None:
    upsert = link("upsert", externalId="A/1?", destination_url=f"{website.url}/upsert")
    [made] = node.execute(upsert)
    [again] = node.execute(upsert | {"additionalFields": {"title": "Again"}})
    assert (again["json"]["id"], again["json"]["title"]) == (made["json"]["id"], "Again")
    assert node.execute(link("getAll", filters={"external_id": "A/1?", "search": ""})) == [again]


def test_lists_as_many_links_as_are_asked_for(node: Node, service: Service, website: Website) -> None:
    many = [{"destination_url": f"{website.url}/many/{n}", "tags": ["many"]} for n in range(103)]
    for start in (0, 100):
        assert service.client.post("/api/v1/links/bulk", json={"links": many[start : start + 100]}).status_code == 200
    filters = {"tag": "many"}
    assert len(node.execute(link("getAll", filters=filters, returnAll=True))) == 103
    assert len(node.execute(link("getAll", filters=filters, limit=102))) == 102
    assert len(node.execute(link("getAll", filters=filters))) == 50


def test_reads_statistics(node: Node, website: Website) -> None:
    [made] = node.execute(link("create", destination_url=f"{website.url}/counted"))
    statistic = {"resource": "statistic", "operation": "get"}
    [of_link, of_account] = node.execute(
        statistic | {"linkId": made["json"]["id"], "filters": {"from": "2026-01-01T00:00:00Z", "to": ""}}, statistic
    )
    assert of_link["json"]["clicks"] == 0
    assert of_account["json"].keys() >= {"clicks", "visitors"}


def test_explains_what_is_wrong(node: Node, website: Website, proxy: FaultProxy) -> None:
    create = link("create", destination_url=website.url, additionalFields={"slug": "no blanks"})
    error = node.execute(create)["error"]
    assert (error["name"], error["message"]) == ("NodeApiError", error["description"])
    assert error["message"].startswith("slug: ")
    [failed, made] = node.execute(create, link("create", destination_url=website.url), continueOnFail=True)
    assert (failed["json"].keys(), failed["pairedItem"], made["pairedItem"]) == ({"error"}, {"item": 0}, {"item": 1})
    assert "does not exist" in node.execute(link("get", linkId="../me"))["error"]["message"]
    node.base_url = proxy.url
    proxy.faults.extend(["page", "redirect"])
    assert "did not answer as its API" in node.execute(link("get", linkId="a"))["error"]["message"]
    assert "(status 301)" in node.execute(link("get", linkId="a"))["error"]["message"]
    node.api_key = "wp_live_wrong"
    assert "key" in node.execute(create)["error"]["message"].lower()


def test_starts_a_workflow_with_an_event(node: Node, service: Service, receiver: Receiver, website: Website) -> None:
    chosen = {"url": receiver.url("/n8n"), "parameters": {"events": ["link.created"]}}
    assert node.run("WaypostTrigger", "checkExists", "create", "checkExists", **chosen)["results"] == [
        False,
        True,
        True,
    ]
    known = dict(node.static)
    node.static.clear()  # as after a restored backup: the old webhook is replaced
    assert node.run("WaypostTrigger", "checkExists", "create", **chosen)["results"] == [False, True]
    hooks = service.client.get("/api/v1/webhooks").json()["data"]
    assert [each["id"] for each in hooks if each["url"] == chosen["url"]] == [node.static["webhookId"]]
    other = chosen | {"parameters": {"events": ["link.created", "link.clicked"]}}
    assert node.run("WaypostTrigger", "checkExists", **other)["results"] == [False]

    title = "Grüße 🚀"
    assert service.client.post("/api/v1/links", json={"destination_url": website.url, "title": title}).is_success
    [delivery] = receiver.wait_for("/n8n", 1)
    headers = {name.lower(): value for name, value in delivery.headers.items()}
    request = {"headers": headers, "body": delivery.body.decode()}
    received = node.run("WaypostTrigger", "webhook", request=request)
    assert received["results"][0]["workflowData"][0][0]["json"] == delivery.envelope
    assert delivery.envelope["data"]["title"] == title
    refused = {"results": [{"noWebhookResponse": True}], "answer": [401, "The signature is wrong or too old."]}
    wrong = [
        request | {"body": request["body"] + " "},
        request | {"headers": {}},
        request | {"headers": {"x-signature": f"t={int(delivery.at) - 400},v1={'0' * 64}"}},
    ]
    for each in wrong:
        assert node.run("WaypostTrigger", "webhook", request=each).items() >= refused.items()
    current, node.static = node.static, known
    assert node.run("WaypostTrigger", "webhook", request=request).items() >= refused.items()  # another secret
    node.static = current
    ended = node.run("WaypostTrigger", "delete", "checkExists", **chosen)
    assert (ended["results"], ended["static"]) == ([True, False], {})
    assert node.run("WaypostTrigger", "delete", **chosen)["results"] == [True]
    assert all(each["url"] != chosen["url"] for each in service.client.get("/api/v1/webhooks").json()["data"])
