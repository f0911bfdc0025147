"""Who may use the tools, with which limits, and what becomes of malformed requests."""

import base64
import json
import shutil
import sys
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from architecture.conftest import shared_app, website  # noqa: F401  # fixtures
from architecture.dashboard import new_team
from architecture.facts import ENDPOINTS, SCOPES
from architecture.running import BASE_URL, RunningApp
from domains import domain
from journeys.service import Website

from waypost.audit import store
from waypost.audit.store import AuditFilter
from waypost.mcp.definitions import BY_NAME, DEFINITIONS
from waypost.mcp.endpoint import NOT_INSTALLED
from waypost.mcp.server import Tools
from waypost.settings import Settings
from waypost.web_app import open_full_app

pytestmark = pytest.mark.asyncio(loop_scope="module")
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture
def running(shared_app: RunningApp) -> RunningApp:  # noqa: F811
    return shared_app


async def post(
    running: RunningApp, key: str | None, method: str = "tools/list", /, *, headers: Any = (), **params: Any
) -> httpx.Response:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    own = HEADERS | ({"Authorization": f"Bearer {key}"} if key else {})
    return await running.client.post("/mcp", json=message, headers=own | dict(headers))


async def call(running: RunningApp, key: str, tool: str, **arguments: Any) -> tuple[bool, str]:
    """(whether it failed, what the assistant reads)."""
    answer = await post(running, key, "tools/call", name=tool, arguments=arguments)
    result = answer.json()["result"]
    return result["isError"], result["content"][0]["text"]


async def names(running: RunningApp, key: str) -> list[str]:
    return [each["name"] for each in (await post(running, key)).json()["result"]["tools"]]


def error(answer: httpx.Response) -> tuple[int, str, str]:
    body = answer.json()
    assert (body["jsonrpc"], body["id"]) == ("2.0", None)
    return answer.status_code, body["error"]["data"]["code"], body["error"]["message"]


@pytest.mark.parametrize("key", [None, "wp_live_wrong"])
async def test_refuses_requests_without_a_valid_key(running: RunningApp, key: str | None) -> None:
    answer = await post(running, key)
    assert error(answer)[:2] == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("scope", SCOPES)
async def test_lists_the_tools_that_the_scopes_allow(running: RunningApp, scope: str) -> None:
    key = await running.key(await running.account(), [scope])
    assert await names(running, key) == [each.name for each in DEFINITIONS if ENDPOINTS[each.operation].scope == scope]
    others = [each.name for each in DEFINITIONS if ENDPOINTS[each.operation].scope != scope]
    failed, text = await call(running, key, others[0], link="x", destination_url="x")
    assert (failed, "lacks the scope" in text) == (True, True)


async def test_lists_the_tools_that_the_role_of_the_keys_maker_allows(running: RunningApp) -> None:
    team = await new_team(running.db)
    key = await running.key(team.account, SCOPES, created_by=team.members["viewer"].person)
    assert await names(running, key) == [
        each.name for each in DEFINITIONS if each.is_read_only or each.name == "qr_code"
    ]
    failed, text = await call(running, key, "create_link", destination_url=running.website.url)
    assert (failed, "role editor" in text) == (True, True)


async def test_finds_nothing_of_other_accounts(running: RunningApp) -> None:
    link = await running.link(await running.key(await running.account(), SCOPES), slug="of-another")
    key = await running.key(await running.account(), SCOPES)
    for name in (link["id"], "of-another", link["short_url"]):
        for tool in ("get_link", "link_stats", "list_clicks", "qr_code", "delete_link"):
            failed, text = await call(running, key, tool, link=name)
            assert failed
            assert "does not exist" in text


async def test_finds_links_by_alias(running: RunningApp) -> None:
    account = await running.account()
    key = await running.key(account, SCOPES)
    link = await running.link(key)
    await domain(running.db, account, "go.served.test")
    running.latest_hostname = "go.served.test"
    await running.alias(key, link["id"])
    failed, text = await call(running, key, "get_link", link="https://GO.served.test/ali%61s?a=b")
    assert (failed, json.loads(text)["id"]) == (False, link["id"])


async def test_refuses_accounts_without_a_plan(running: RunningApp) -> None:
    key = await running.key(await running.account("past_due"), SCOPES)
    assert error(await post(running, key))[:2] == (402, "payment_required")


async def test_shares_the_rate_limit_with_the_api_and_counts_a_call_once(running: RunningApp) -> None:
    key = await running.key(await running.account(), SCOPES)
    link = await running.link(key)
    for left in range(58, 0, -2):
        answer = await post(running, key, "tools/call", name="link_stats", arguments={"link": link["slug"]})
        assert answer.headers["X-RateLimit-Remaining"] == str(left)
        await running.client.get("/api/v1/me", headers={"Authorization": f"Bearer {key}"})
    assert (await post(running, key)).status_code == 200
    refused = await post(running, key)
    assert error(refused)[:2] == (429, "rate_limited")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert error(refused)[2] == f"Too many requests. Try again in {refused.headers['Retry-After']} s."


async def entries_of(running: RunningApp, account: UUID) -> list[Any]:
    async with running.db.read() as tx:
        return (await store.list_before(tx, account, AuditFilter(), None, limit=100))[0]


async def test_leaves_one_audit_entry_for_each_change_and_none_for_others(running: RunningApp) -> None:
    account = await running.account()
    key = await running.key(account, SCOPES)
    _, text = await call(running, key, "create_link", destination_url=running.website.url)
    link = json.loads(text)["id"]
    await call(running, key, "update_link", link=link, title="Another")
    await call(running, key, "update_link", link=link, slug="not allowed")
    for tool in ("get_link", "link_stats", "qr_code"):
        assert not (await call(running, key, tool, link=link))[0]
    await call(running, key, "delete_link", link=link)
    entries = await entries_of(running, account)
    assert [each.action for each in entries] == ["link.deleted", "link.updated", "link.created"]
    assert {(each.actor.type, each.actor.ip) for each in entries} == {("key", "127.0.0.1")}


@pytest.mark.parametrize("origin", ["https://evil.example", "null", f"{BASE_URL}.evil.example"])
async def test_refuses_web_pages_of_other_sites(running: RunningApp, origin: str) -> None:
    key = await running.key(await running.account(), SCOPES)
    answer = await post(running, key, headers={"Origin": origin})
    assert error(answer)[:2] == (403, "forbidden")
    assert (await post(running, key, headers={"Origin": BASE_URL})).status_code == 200


async def test_is_on_the_services_own_host_only(running: RunningApp) -> None:
    key = await running.key(await running.account(), SCOPES)
    assert (await post(running, key, headers={"Host": "go.brand.example"})).status_code == 405


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
async def test_answers_only_post(running: RunningApp, method: str) -> None:
    answer = await running.client.request(method, "/mcp", headers=HEADERS)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


async def test_refuses_large_and_compressed_bodies(running: RunningApp) -> None:
    key = await running.key(await running.account(), SCOPES)
    large = await post(running, key, "tools/call", name="create_link", arguments={"title": "x" * (10 << 20)})
    assert error(large)[0] == 413
    headers = HEADERS | {"Authorization": f"Bearer {key}", "Content-Encoding": "gzip"}
    assert error(await running.client.post("/mcp", content=b"x", headers=headers))[0] == 422


@pytest.mark.parametrize("version", [{}, {"MCP-Protocol-Version": "2026-07-28"}, {"MCP-Protocol-Version": "x"}])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"[1]",
        b"\xff",
        b'{"jsonrpc": "2.0", "id": 1}',
        b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\\ud800", "arguments": {}}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_link", "arguments": []}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "no/method"}',
        b'{"a":' * 50_000,
        b'{"jsonrpc": "2.0", "id": ' + b"9" * 5_000 + b', "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "find_links", "arguments": {"page": '
        + b"9" * 5_000
        + b"}}}",
    ],
    ids=range(15),
)
async def test_malformed_messages_are_the_clients_fault(
    running: RunningApp, body: bytes, version: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    key = await running.key(await running.account(), SCOPES)
    headers = HEADERS | version | {"Authorization": f"Bearer {key}"}
    answer = await running.client.post("/mcp", content=body, headers=headers)
    assert answer.status_code < 500
    assert "error" in answer.json()
    assert not caplog.records


@pytest.mark.parametrize(
    "arguments",
    [
        {"link": "\x00"},
        {"link": "go.brand.test/%00"},
        {"link": ""},
        {"link": "/"},
        {"link": "https://"},
        {"link": "x" * 100_000},
        {"link": {"a": 1}},
        {"link": None},
        {"link": 5},
    ],
    ids=range(9),
)
@pytest.mark.parametrize("tool", ["get_link", "delete_link", "link_stats"])
async def test_hostile_arguments_are_refused(running: RunningApp, tool: str, arguments: Any) -> None:
    key = await running.key(await running.account(), SCOPES)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = HEADERS | {"Authorization": f"Bearer {key}"}
    answer = await running.client.post("/mcp", content=json.dumps(message), headers=headers)
    assert answer.status_code == 200
    if (tool, arguments) != ("link_stats", {"link": None}):
        assert answer.json()["result"]["isError"]
        assert "on our side" not in answer.text


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.mark.parametrize(
    ("id_", "method", "params"),
    [
        ("\ud800", "tools/list", {}),
        (1, "tools/call", {"name": "get_link", "arguments": {"link": "\ud800"}}),
        (1, "tools/call", {"name": "get_link", "arguments": {"\ud800": 1}}),
        (1, "tools/call", {"name": "find_links", "arguments": {"search": "\ud800"}}),
        (1, "tools/call", {"name": "create_link", "arguments": {"destination_url": "http://\ud800"}}),
        (1, "tools/call", {"name": "find_links", "arguments": {"page": float("nan")}}),
        (1, "tools/call", {"name": "bulk_create_links", "arguments": {"links": [{"title": float("nan")}]}}),
        (1, "subscriptions/listen", {}),
    ],
    ids=range(8),
)
async def test_messages_without_a_handshake_are_as_safe(
    running: RunningApp, id_: Any, method: str, params: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    key = await running.key(await running.account(), SCOPES)
    message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": {**params, "_meta": MODERN}}
    routing = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": params.get("name", "")}
    headers = HEADERS | {"Authorization": f"Bearer {key}"} | routing
    answer = await running.client.post("/mcp", content=json.dumps(message), headers=headers)
    assert answer.status_code < 500
    assert "result" in answer.json() or "error" in answer.json()
    assert "on our side" not in answer.text
    assert capsys.readouterr().err == ""


async def test_reports_an_unexpected_failure_by_its_id_and_logs_it_once(
    running: RunningApp, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fail(*_: Any) -> Any:
        raise ZeroDivisionError("within")

    key = await running.key(await running.account(), SCOPES)
    monkeypatch.setattr(Tools, "_list_domains", fail)
    failed, text = await call(running, key, BY_NAME["list_domains"].name)
    assert (failed, "The error ID is" in text, "within" in text) == (True, True, False)
    written = "".join(capsys.readouterr())
    assert written.count("request failed") == 1
    assert key not in written


async def test_says_how_to_install_it(running: RunningApp, monkeypatch: pytest.MonkeyPatch) -> None:
    key = await running.key(await running.account(), SCOPES)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert error(await post(running, key)) == (501, "http_error", NOT_INSTALLED)
    assert error(await post(running, None))[0] == 401


async def test_returns_images_of_a_service_with_https(
    tmp_path: Path,
    sqlite_template: Path,
    website: Website,  # noqa: F811
) -> None:
    shutil.copy(sqlite_template, tmp_path / "waypost.db")
    base_url, outbound = "https://waypost.test", [ip_network("127.0.0.0/8")]
    settings = Settings(data_dir=tmp_path, base_url=base_url, outbound_allow=outbound, secret_key="a key")
    async with open_full_app(settings) as web:
        transport = httpx.ASGITransport(web.app)
        async with httpx.AsyncClient(transport=transport, base_url=base_url) as client:
            running = RunningApp(client, web.db, web.app.app.api, website, [], [])
            key = await running.key(await running.account(), SCOPES)
            link = (await running.link(key))["id"]
            arguments = {"link": link, "include_image": True}
            answer = await post(running, key, "tools/call", name="qr_code", arguments=arguments)
            text, image = answer.json()["result"]["content"]
            assert json.loads(text["text"])["image_url"].startswith(base_url)
            assert base64.b64decode(image["data"]).startswith(b"\x89PNG")
            insecure = await client.post(f"{base_url.replace('https', 'http')}/mcp", headers=HEADERS, json={})
            assert error(insecure)[0] == 400
