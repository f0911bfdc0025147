"""The GitHub Action, with the environment that a runner gives it."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from journeys.service import OWNER, Service, Website, free_port
from python_client.fault_proxy import FaultProxy

from integrations.programs import INTEGRATIONS, run_node

yaml = pytest.importorskip("yaml", reason="yaml is missing: make test installs it")
ACTION = INTEGRATIONS / "github-action"


class Runner:
    """One run of the action, for the release of a repository."""

    def __init__(self, directory: Path, service: Service, url: str) -> None:
        self.directory = directory
        self.api_key = service.new_key()
        self.release: dict[str, Any] = {"html_url": url, "name": "Version 1.2"}
        self.base_url = service.base_url

    def run(self, **inputs: str) -> tuple[int, str, dict[str, str]]:
        """Exit code, log and outputs."""
        event, output = self.directory / "event.json", self.directory / "output"
        event.write_text(json.dumps({"action": "published", "release": self.release}))
        output.write_text("")
        given = {"base-url": self.base_url, "api-key": self.api_key} | {
            name.replace("_", "-"): text for name, text in inputs.items()
        }
        declared = yaml.safe_load((ACTION / "action.yml").read_text())["inputs"]
        assert given.keys() <= declared.keys()
        env = {f"INPUT_{name.upper()}": given.get(name, "") for name in declared}
        env |= {"GITHUB_EVENT_PATH": str(event), "GITHUB_OUTPUT": str(output), "GITHUB_REPOSITORY": "ada/engine"}
        env |= {"GITHUB_RUN_ID": "1", "GITHUB_RUN_ATTEMPT": "1"}
        done = run_node(ACTION / "shorten.mjs", env=env)
        assert done.stderr == ""
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return done.returncode, done.stdout, outputs


@pytest.fixture
def runner(tmp_path: Path, service: Service, website: Website, request: pytest.FixtureRequest) -> Runner:
    return Runner(tmp_path, service, f"{website.url}/{request.node.name}/releases/tag/v1.2")


def error(log: str) -> str:
    [found] = re.findall(r"^::error title=Waypost::(.*)$", log, re.MULTILINE)
    return found.replace("%0A", "\n").replace("%25", "%")


def links(service: Service, url: str) -> list[dict[str, Any]]:
    found = service.client.get("/api/v1/links", params={"per_page": 100}).json()["data"]
    return [each for each in found if each["destination_url"] == url]


def test_shortens_the_url_of_the_release_once(runner: Runner, service: Service) -> None:
    code, log, outputs = runner.run(tags="release, v1")
    assert (code, log.splitlines()[0]) == (0, f"::add-mask::{runner.api_key}")
    [link] = links(service, runner.release["html_url"])
    assert outputs == {"short-url": f"http://{link['short_url']}", "id": link["id"]}
    assert (link["title"], link["tags"]) == ("Version 1.2", ["release", "v1"])
    assert httpx.get(outputs["short-url"], timeout=60).headers["location"] == runner.release["html_url"]
    runner.release["name"] = "Renamed"
    code, log, again = runner.run()
    assert (code, again, "Found" in log) == (0, outputs, True)
    assert len(links(service, runner.release["html_url"])) == 1
    service.client.delete(f"/api/v1/links/{link['id']}")
    runner.release["name"] = "Version 1.2"
    code, _, third = runner.run(tags="release, v1")  # the stored answer to this request is the deleted link
    assert (code, third["id"] != link["id"]) == (0, True)
    assert [each["id"] for each in links(service, runner.release["html_url"])] == [third["id"]]


def test_a_request_whose_answer_was_lost_creates_one_link(runner: Runner, service: Service, proxy: FaultProxy) -> None:
    runner.base_url = proxy.url
    proxy.faults.extend([None, "drop after"])
    code, _, outputs = runner.run()
    assert [each.method for each in proxy.forwarded] == ["GET", "POST", "POST", "GET"]
    assert code == 0
    assert [each["id"] for each in links(service, runner.release["html_url"])] == [outputs["id"]]


def test_uses_the_inputs(runner: Runner, service: Service, website: Website) -> None:
    url = f"{website.url}/other?a=%20b"
    code, _, outputs = runner.run(url=url, slug="action-notes", title="Notes: 50 %")
    [link] = links(service, url)
    assert (code, outputs["id"], link["slug"], link["title"]) == (0, link["id"], "action-notes", "Notes: 50 %")
    assert runner.run(url=url, slug="action-notes")[2] == outputs
    other = runner.run(url=url, slug="action-other")[2]
    assert other["id"] != link["id"]


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"api_key": "wp_live_wrong"}, "Check the secret"),
        ({"api_key": ""}, "The input api-key is missing"),
        ({"base_url": ""}, "The input base-url is missing"),
        ({"base_url": "go.example.com"}, "not a web address"),
        ({"base_url": "http://go.example.com"}, "must begin with https://"),
        ({"url": "http://10.1.2.3/"}, "destination_url: "),
        ({"url": "nonsense"}, "destination_url: "),
        ({"slug": "no blanks"}, "slug: "),
        ({"hostname": "other.example"}, "hostname: "),
    ],
)
def test_explains_what_is_wrong(runner: Runner, service: Service, inputs: dict[str, str], text: str) -> None:
    code, log, outputs = runner.run(**inputs)
    assert (code, outputs) == (1, {})
    assert text in error(log)
    key = inputs.get("api_key", runner.api_key)
    assert not key or key not in log.replace(f"::add-mask::{key}", "")


def test_explains_a_taken_slug(runner: Runner, service: Service, website: Website) -> None:
    assert runner.run(url=f"{website.url}/taken", slug="action-taken")[0] == 0
    code, log, _ = runner.run(slug="action-taken")
    assert (code, "slug: " in error(log)) == (1, True)


def test_explains_missing_scopes_and_plan(runner: Runner, service: Service) -> None:
    runner.api_key = service.json("key", "create", "--account", OWNER, "--name", "k", "--scope", "links:write")["key"]
    assert "links:read and links:write" in error(runner.run()[1])
    service.command("account", "create", "poor@example.com", "--plan", "none")
    runner.api_key = service.new_key("poor@example.com")
    assert "no active plan" in error(runner.run()[1])


def test_explains_that_there_is_nothing_to_shorten(runner: Runner) -> None:
    runner.release = {}
    assert "There is no URL to shorten" in error(runner.run()[1])


def test_retries_and_then_gives_up(runner: Runner, proxy: FaultProxy) -> None:
    runner.base_url = proxy.url
    proxy.faults.extend(["429", "503", "drop before"])
    code, log, _ = runner.run()
    assert (code, re.findall(r"waited (\S+) s", log)) == (0, ["7", "7", "8"])
    proxy.faults.extend(["503"] * 4)
    code, log, _ = runner.run()
    assert (code, "responded with status 503" in error(log)) == (1, True)
    proxy.faults.extend(["page"])
    assert "did not respond as Waypost does" in error(runner.run()[1])
    proxy.faults.extend(["redirect"])
    assert "did not respond as Waypost does (status 301)" in error(runner.run()[1])
    runner.base_url = f"http://127.0.0.1:{free_port()}"
    assert "No response from" in error(runner.run()[1])
