"""Each change by API or page leaves one entry in the audit log, a refused one none, and none contains a secret."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID, uuid4

import pytest
from architecture.facts import ENDPOINTS, FILES, SCOPES, Endpoint
from architecture.running import OTHER_LOGO, RECEIVER, RunningApp
from architecture.test_scopes import named, owned
from sqlalchemy import text

from waypost.audit import store
from waypost.audit.actions import AUDIT_ACTIONS, LABELS
from waypost.audit.model import AuditEntry
from waypost.audit.store import AuditFilter

SECRETS = ("987654321012345", "a-pixel-token", "a-link-password", "hook-path-secret")
"""Values that requests of these tests contain. Keys, secrets of webhooks and sessions are looked for as well."""
WRITES = [each for name, each in ENDPOINTS.items() if each.method != "GET" and name not in FILES]
_APP = {"applinks": {"details": [{"appIDs": ["ABCDE12345.com.example.app"], "components": [{"/": "/sale"}]}]}}
APP_LINKS = json.dumps(_APP)
_issued: list[str] = []
"""Secrets that were made during these tests."""


@pytest.fixture
def running(shared_app: RunningApp) -> RunningApp:
    return shared_app


def body_of(running: RunningApp, endpoint: Endpoint, id_: str) -> Any:
    """What makes the endpoint change something."""
    bodies: Mapping[tuple[str, str], Callable[[], Any]] = {
        ("POST", "/v1/links"): lambda: {"destination_url": running.website.url},
        ("PUT", "/v1/links/by-external-id/{external_id}"): lambda: {"destination_url": running.website.url},
        ("PATCH", "/v1/links/{id}"): lambda: {"title": "Another title"},
        ("POST", "/v1/links/{id}/qrcode"): lambda: {"foreground": "#112233"},
        ("POST", "/v1/pixels"): lambda: {"platform": "facebook", "name": "A", "pixel_id": SECRETS[0]},
        ("PATCH", "/v1/pixels/{id}"): lambda: {"access_token": SECRETS[1], "name": "Another name"},
        ("POST", "/v1/webhooks"): lambda: {"url": f"{RECEIVER}/{SECRETS[3]}", "event_types": ["link.created"]},
        ("POST", "/v1/utm-templates"): lambda: {"name": f"{uuid4()}", "utm_params": {"utm_source": "a"}},
        ("PATCH", "/v1/utm-templates/{id}"): lambda: {"name": "Another name"},
        ("POST", "/v1/shares"): lambda: {"name": "A", "password": SECRETS[2]},
        ("PATCH", "/v1/shares/{id}"): lambda: {"name": "Another name", "hide_below": 5},
        ("POST", "/v1/tags"): lambda: {"name": "A"},
        ("PATCH", "/v1/tags/{id}"): lambda: {"color": "red"},
        ("POST", "/v1/domains"): lambda: {"hostname": running.hostname()},
        ("PATCH", "/v1/domains/{id}"): lambda: {"root_url": "https://example.com/"},
        ("PATCH", "/v1/domains/{id}/options"): lambda: {"ignore_case": False},
        ("PATCH", "/v1/domains/{id}/appearance"): lambda: {"name": "Acme"},
        ("PATCH", "/v1/links/{id}/options"): lambda: {"forward_query": "all"},
        ("PUT", "/v1/domains/{id}/app-links"): lambda: {"apple_app_site_association": _APP, "assetlinks": None},
        ("POST", "/v1/links/{id}/aliases"): lambda: {"hostname": running.latest_hostname, "path": "sale"},
        ("PUT", "/v1/links/{id}/routing"): lambda: {"password": SECRETS[2], "click_limit": 5},
        **dict.fromkeys((("PUT", "/v1/qrcodes/logo"), ("PUT", "/v1/domains/{id}/logo")), lambda: OTHER_LOGO),
        ("POST", "/v1/links/bulk"): lambda: {"links": [{"destination_url": running.website.url}, {}]},
        ("PATCH", "/v1/links/bulk"): lambda: {"ids": [id_, str(uuid4())], "set": {"add_tags": ["new"]}},
        ("DELETE", "/v1/links/bulk"): lambda: {"ids": [id_, str(uuid4())]},
    }
    make = bodies.get((endpoint.method, endpoint.path))
    return make() if make else None


def sent_as(endpoint: Endpoint, body: Any) -> dict[str, Any]:
    return {"files" if endpoint.path.endswith("/logo") else "json": body} if body else {}


def refused_body(endpoint: Endpoint) -> Any:
    """A body that is refused, or changes nothing in any link."""
    if endpoint.path == "/v1/links/bulk":
        nothing = {"links": [{}], "ids": [str(uuid4())], "set": {"add_tags": ["new"]}}
        return {
            name: nothing[name] for name in {"POST": ["links"], "PATCH": ["ids", "set"]}.get(endpoint.method, ["ids"])
        }
    fields = ("status", "pixel_id", "hostname", "level", "rules", "tag", "utm_params", "color", "ignore_case")
    return dict.fromkeys((*fields, "forward_query", "forward_path", "apple_app_site_association"), 5)


async def entries_of(running: RunningApp, account: UUID) -> list[AuditEntry]:
    async with running.db.read() as tx:
        return (await store.list_before(tx, account, AuditFilter(), None, limit=100))[0]


async def prepare(running: RunningApp, key: str, endpoint: Endpoint) -> tuple[str, str]:
    """Return the ids of what the endpoint changes."""
    ids = await owned(running, key, endpoint)
    if (endpoint.method, endpoint.path) == ("DELETE", "/v1/links/{id}/routing"):
        put = Endpoint("PUT", endpoint.path, None, 200)
        assert (await running.ask(key, put, *ids, json={"password": SECRETS[2]})).status_code == 200
    return ids


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("endpoint", WRITES, ids=named)
async def test_a_write_of_the_api_leaves_one_entry(running: RunningApp, endpoint: Endpoint) -> None:
    account = await running.account()
    key = await running.key(account, SCOPES)
    _issued.append(key)
    ids = await prepare(running, key, endpoint)
    body = body_of(running, endpoint, ids[0])
    before = await entries_of(running, account)
    sent = sent_as(endpoint, body)
    answer = await running.ask(key, endpoint, *ids, **sent)
    assert answer.status_code == endpoint.success, answer.text
    if endpoint.path == "/v1/webhooks":
        _issued.append(answer.json()["data"]["secret"])
    [entry, *others] = await entries_of(running, account)
    assert others == before
    assert (entry.actor.type, entry.actor.name, entry.actor.ip) == ("key", "key", "127.0.0.1")
    assert entry.item.name or entry.details["count"] == 1
    if endpoint.method in {"PATCH", "PUT"} and "pixels" not in endpoint.path and "routing" not in endpoint.path:
        # a secret that is sent counts as changed
        assert (await running.ask(key, endpoint, *ids, **sent)).is_success
        assert await entries_of(running, account) == [entry, *others], "the same again changes nothing"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("endpoint", WRITES, ids=named)
async def test_a_refused_write_of_the_api_leaves_none(running: RunningApp, endpoint: Endpoint) -> None:
    account = await running.account()
    key, weak = await running.key(account, SCOPES), await running.key(account, ())
    ids = await prepare(running, key, endpoint)
    before = await entries_of(running, account)
    body = body_of(running, endpoint, ids[0])
    sent = sent_as(endpoint, body)
    assert (await running.ask(weak, endpoint, *ids, **sent)).status_code == 403
    if "{id}" in endpoint.path:
        assert (await running.ask(key, endpoint, str(uuid4()), str(uuid4()), **sent)).status_code == 404
    if body is not None:
        answer = await running.ask(key, endpoint, *ids, json=refused_body(endpoint))
        assert answer.status_code == (200 if endpoint.path == "/v1/links/bulk" else 422), answer.text
    assert await entries_of(running, account) == before


@pytest.mark.asyncio(loop_scope="module")
async def test_no_entry_has_a_secret(running: RunningApp) -> None:
    """After the others of this file, which leave entries of all kinds."""
    async with running.db.read() as tx:
        stored = str((await tx.execute(text("SELECT * FROM audit_entries"))).all())
    assert stored.count("link.created") > 10
    assert [secret for secret in (*SECRETS, *_issued) if secret in stored] == []


def test_each_action_has_a_label() -> None:
    assert list(LABELS) == list(AUDIT_ACTIONS)
