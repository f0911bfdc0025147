"""The contract from outside: two web processes and a worker, real sockets, real commands, whatever bytes one may send.

Every bad input is answered with the error envelope, nothing of it is stored, and the log shows no failure.
"""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from journeys.input import BODIES, FIELDS, GIF, JSON, MISSING
from journeys.service import Service, Website, eventually, free_port

MANY = 8
"""Connections of their own: enough that both web processes answer some."""


@pytest.fixture(scope="module")
def website() -> Iterator[Website]:
    with Website() as site:
        yield site


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service"), options=("--workers", "2")) as service:
        yield service
        assert service.stop() == 0
        assert [line for line in service.log.lines if "level=error" in line or "Traceback" in line] == []


@pytest.fixture(scope="module")
def keys(service: Service) -> Iterator[str]:
    """Each for as many tests as its budget surely allows."""
    return itertools.chain.from_iterable(itertools.repeat(service.new_key(), 8) for _ in itertools.count())


@pytest.fixture
def api(service: Service, keys: Iterator[str]) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {next(keys)}", "Accept": JSON}
    with httpx.Client(base_url=f"{service.base_url}/api/v1", headers=headers, trust_env=False, timeout=60) as client:
        yield client


def follow(service: Service, path: str, method: str = "GET", **headers: str) -> httpx.Response:
    """Over a connection of its own, so that any process may be the one to answer."""
    with httpx.Client(trust_env=False, timeout=60) as visitor:
        return visitor.request(method, service.base_url + path, headers=headers)


def destinations(service: Service, link: dict[str, Any]) -> set[str | None]:
    """Where the processes lead a visitor of the link; None: nowhere."""
    answers = [follow(service, f"/{link['slug']}", "HEAD") for _ in range(MANY)]
    assert {answer.status_code for answer in answers} <= {302, 404}
    return {answer.headers.get("location") for answer in answers}


def made(api: httpx.Client, website: Website, **fields: Any) -> dict[str, Any]:
    answer = api.post("/links", json={"destination_url": website.url} | fields)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


def error(answer: httpx.Response) -> dict[str, Any]:
    assert answer.headers["content-type"] == JSON, answer.text
    content = answer.json()
    assert list(content) == ["error"]
    assert list(content["error"]) == ["code", "message", "errors"][: 3 if answer.status_code == 422 else 2]
    return content["error"]


# ── a link's life ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=["sqlite", "postgresql"])
def on_each_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    if request.param == "sqlite":
        yield request.getfixturevalue("service")
        return
    url = request.getfixturevalue("postgres_url")
    with Service(tmp_path, options=("--workers", "2"), WAYPOST_DATABASE_URL=url) as service:
        yield service
        assert service.stop() == 0


def test_creates_follows_changes_and_deletes_a_link(on_each_database: Service, website: Website) -> None:
    """Made, followed, counted, changed, switched off and on, listed, deleted; each is seen by the very next visitor."""
    service = on_each_database
    somebody = service.new_account("journey@example.com")
    headers, counting = ({"Authorization": f"Bearer {service.new_key(somebody)}"} for _ in range(2))
    with httpx.Client(base_url=f"{service.base_url}/api/v1", headers=headers, trust_env=False, timeout=60) as api:
        link = made(api, website, title="First", tags=["spring"])
        other = made(api, website)
        path = f"/links/{link['id']}"
        assert destinations(service, link) == {website.url}
        clicked(service, counting, link)
        for change, leads_to in (
            ({"destination_url": f"{website.url}/new"}, f"{website.url}/new"),
            ({"status": "inactive"}, None),
            ({"status": "active"}, f"{website.url}/new"),
        ):
            assert api.patch(path, json=change).status_code == 200
            assert destinations(service, link) == {leads_to}
        listed(api, link, other)
        moved = api.patch(path, json={"slug": "moved"}).json()["data"]
        assert (destinations(service, link), destinations(service, moved)) == ({None}, {f"{website.url}/new"})
        assert (api.delete(path).status_code, api.get(path).status_code) == (204, 404)
        assert destinations(service, moved) == {None}
        assert "<h1>Link not found" in follow(service, "/moved").text


def clicked(service: Service, headers: dict[str, str], link: dict[str, Any]) -> None:
    """A visit counts; one without a visitor's wish behind it, and one that asks for the head alone, do not."""
    path = f"/{link['slug']}"
    for purpose in ({"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}):
        assert follow(service, path, **purpose).status_code == 302
    for _ in range(MANY):
        assert follow(service, f"{path}?secret=1").headers["location"] == link["destination_url"]

    def count() -> int:
        answer = httpx.get(
            f"{service.base_url}/api/v1/links/{link['id']}", headers=headers, trust_env=False, timeout=60
        )
        return answer.json()["data"]["clicks"]

    eventually(lambda: count() >= MANY, every=1)  # of 60 a minute
    assert count() == MANY


def listed(api: httpx.Client, link: dict[str, Any], other: dict[str, Any]) -> None:
    for query, found in (
        ("", [other, link]),
        ("?search=fIRS", [link]),
        ("?tag=spring", [link]),
        ("?tag=Spring", []),
        (f"?hostname={link['hostname']}", [other, link]),
        ("?status=inactive", []),
        ("?per_page=1&page=2", [link]),
    ):
        assert [each["id"] for each in api.get(f"/links{query}").json()["data"]] == [each["id"] for each in found]


def test_an_image_is_taken_and_shown(api: httpx.Client, service: Service, website: Website) -> None:
    form = {"destination_url": website.url, "tags[]": ["a", "b"], "utm_params[utm_source]": "mail", "title": ""}
    answer = api.post("/links", data=form, files={"og_image_file": ("x.gif", GIF)})
    link = answer.json()["data"]
    assert (answer.status_code, link["tags"], link["utm_params"]) == (201, ["a", "b"], {"utm_source": "mail"})
    image = httpx.get(link["og_image"], trust_env=False, timeout=60)
    assert (image.status_code, image.headers["content-type"]) == (200, "image/gif")
    assert image.headers["x-content-type-options"] == "nosniff"
    assert image.content.startswith(b"GIF8")


# ── a webhook's life ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_webhook_is_made_tried_and_deleted(api: httpx.Client, service: Service) -> None:
    """Nobody listens at its receiver's port, which is found out by delivering."""
    api.headers["Authorization"] = f"Bearer {service.new_key()}"
    sent = {"url": f"https://127.0.0.1:{free_port()}/hook", "event_types": ["link.created", "link.created"]}
    answer = api.post("/webhooks", json=sent)
    assert answer.status_code == 201, answer.text
    webhook = answer.json()["data"]
    assert (webhook.pop("secret")[:6], webhook["event_types"]) == ("whsec_", ["link.created"])
    path = f"/webhooks/{webhook['id']}"
    assert webhook in api.get("/webhooks").json()["data"]
    assert api.post(f"{path}/test").status_code == 202

    def delivery() -> dict[str, Any]:
        return api.get(f"{path}/deliveries").json()["data"][0]

    eventually(lambda: delivery()["error"], every=1)  # of 60 a minute
    tried = delivery()
    assert (tried["event"], tried["status"], tried["attempts"]) == ("webhook.test", "pending", 1)
    assert tried["error"] == "connection refused"
    again = api.post(f"{path}/deliveries/{tried['id']}/redeliver")
    assert (again.status_code, again.json()["data"]["id"]) == (202, tried["id"])
    assert [api.delete(path).status_code, api.get(path).status_code, api.delete(path).status_code] == [204, 404, 404]


def test_webhook_errors_are_reported_together(api: httpx.Client) -> None:
    before = api.get("/webhooks").json()
    for url in (
        "http://127.0.0.1/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://localhost/",
        "",
        5,
        None,
        "\ud800",
    ):
        body = json.dumps({"url": url, "event_types": ["link.created", "link.deleted", 5]})
        answer = api.post("/webhooks", content=body, headers={"Content-Type": JSON})
        assert answer.status_code == 422, answer.text
        assert set(error(answer)["errors"]) == {"url", "event_types.1", "event_types.2"}, url
    assert api.get("/webhooks").json() == before


# ── bodies that are none ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("kind", "body", "status"), BODIES.values(), ids=BODIES)
def test_a_body_of(api: httpx.Client, website: Website, kind: str, body: bytes, status: int) -> None:
    link = made(api, website)
    before = everything(api)
    for method, path in (("POST", "/links"), ("PATCH", f"/links/{link['id']}"), ("POST", "/webhooks")):
        answer = api.request(method, path, content=body, headers={"Content-Type": kind})
        assert answer.status_code == status, answer.text
        reported = error(answer)
        assert (reported["code"], list(reported.get("errors", {}))) == (
            ("validation_error", ["body"]) if status == 422 else ("http_error", [])
        )
    assert everything(api) == before


@pytest.mark.parametrize("size", [(1 << 20) + 1, 20 << 20])
def test_a_body_that_does_not_say_how_long_it_is(api: httpx.Client, size: int) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"title": "'
        for _ in range(size >> 16):
            yield b"x" * (1 << 16)

    answer = api.post("/links", content=pieces(), headers={"Content-Type": JSON})
    assert (answer.status_code, error(answer)["code"]) == (413, "http_error")


# ── fields that are wrong ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("start", range(0, len(FIELDS), 10))
def test_fields_like_these(api: httpx.Client, service: Service, website: Website, start: int) -> None:
    api.headers["Authorization"] = f"Bearer {service.new_key()}"
    link = made(api, website)
    before = everything(api)
    for name, fields in FIELDS[start : start + 10]:
        body = json.dumps({"destination_url": website.url} | fields)
        for method, path in (("POST", "/links"), ("PATCH", f"/links/{link['id']}")):
            answer = api.request(method, path, content=body, headers={"Content-Type": JSON})
            assert answer.status_code == 422, (method, fields, answer.text)
            assert list(error(answer)["errors"]) == [name], (method, fields)
    assert everything(api) == before


def test_all_errors_are_reported_together(api: httpx.Client, website: Website) -> None:
    before = everything(api)
    taken = made(api, website)
    wrong = {"title": 5, "slug": taken["slug"], "tags": ["a", 5], "utm_params": {"utm_x": "x"}, "expires_at": "soon"}
    more = {"destination_url": "http://10.0.0.1/", "hostname": "nobody.example", "pixel_ids": [MISSING]}
    answer = api.post("/links", json=wrong | more)
    names = {"title", "slug", "tags.1", "utm_params.utm_x", "expires_at", "destination_url", "hostname", "pixel_ids.0"}
    assert set(error(answer)["errors"]) == names
    assert all(texts and all(texts) for texts in error(answer)["errors"].values())
    assert everything(api)[0] == before[0] + 1


def test_what_is_unknown_or_odd_but_right_is_taken(api: httpx.Client, website: Website) -> None:
    text = json.dumps({"unknown": {"a": [1e308, 2**63, "\ud800"]}, "title": "\U0001f600 <b>&amp;</b> \u202e'\"\\"})
    body = text.removesuffix("}") + f', "destination_url": "{website.url}"}}'
    answer = api.post("/links", content=body, headers={"Content-Type": "application/json; charset=utf-8"})
    assert (answer.status_code, answer.json()["data"]["title"]) == (201, json.loads(text)["title"])


def everything(api: httpx.Client) -> tuple[int, Any]:
    """How many links there are, and the newest of them whole."""
    page = api.get("/links").json()
    return page["meta"]["total"], page["data"]


# ── addresses, verbs, keys, budgets ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "name"),
    [
        *((f"page={each}", "page") for each in ("0", "-1", "a", "1.5", "%00", "%D9%A1", "1e3")),
        *((f"per_page={each}", "per_page") for each in ("0", "-1", "a", "+1")),
        ("status=on", "status"),
        ("search=%00", "search"),
        ("tag=a%0Ab", "tag"),
        ("hostname=%7F", "hostname"),
    ],
)
def test_a_query_of(api: httpx.Client, query: str, name: str) -> None:
    answer = api.get(f"/links?{query}")
    assert (answer.status_code, list(error(answer)["errors"])) == (422, [name])


@pytest.mark.parametrize(
    "query",
    [
        "page=&per_page=&status=",
        "page=9999999999999999999999",
        "search=%FF%FE",
        "search=%25_'%22;--",
        "x=" + "y" * 5000,
    ],
)
def test_a_query_that_is_merely_odd(api: httpx.Client, query: str) -> None:
    assert api.get(f"/links?{query}").status_code == 200


@pytest.mark.parametrize(
    "path", ["", "/", "/v1", "/v1/", "/v2/links", "/v1/link", "/v1/links/", "/v1/links//", "/v1/LINKS", "/v1/links%2F"]
)
def test_unknown_path_gets_404_without_a_key(service: Service, path: str) -> None:
    answer = follow(service, f"/api{path}")
    assert (answer.status_code, error(answer)["code"]) == (404, "not_found")


@pytest.mark.parametrize("name", ["1", "hello", "%00", "%FF", "..%2F..%2Fetc", MISSING.replace("-", ""), "a" * 5000])
def test_a_link_nobody_has(api: httpx.Client, name: str) -> None:
    answers = [api.get(f"/links/{each}") for each in (name, MISSING)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert error(answers[0]) == error(answers[1])


@pytest.mark.parametrize("method", ["PUT", "HEAD", "OPTIONS", "TRACE", "DELETE"])
def test_a_verb_the_list_does_not_take(service: Service, method: str) -> None:
    answer = follow(service, "/api/v1/links", method)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
    assert method == "HEAD" or error(answer)["code"] == "method_not_allowed"


def test_a_verb_a_link_does_not_take(service: Service) -> None:
    assert follow(service, f"/api/v1/links/{MISSING}", "POST").headers["allow"] == "DELETE, GET, PATCH"


def test_no_key_that_is_one(service: Service) -> None:
    broken = service.key[:-1] + ("a" if service.key[-1] != "a" else "b")
    for value in (
        "",
        "Bearer",
        f"Basic {service.key}",
        service.key,
        f"Bearer {broken}",
        "Bearer " + "x" * 9000,
    ):
        answer = follow(service, "/api/v1/links", Authorization=value)
        assert (answer.status_code, error(answer)["code"]) == (401, "unauthenticated"), value
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "x-ratelimit-limit" not in answer.headers


def test_a_key_revoked_is_refused_by_every_process(service: Service) -> None:
    made = service.json("key", "create", "--account", "owner@example.com", "--name", "short-lived")
    headers = {"Authorization": f"Bearer {made['key']}"}
    assert {follow(service, "/api/v1/me", **headers).status_code for _ in range(MANY)} == {200}
    service.command("key", "revoke", made["id"])
    assert {follow(service, "/api/v1/me", **headers).status_code for _ in range(MANY)} == {401}


def test_the_61st_request_within_a_minute(service: Service) -> None:
    """Whichever process answers; nobody else's budget is touched."""
    headers = {"Authorization": f"Bearer {service.new_key()}"}
    for left in reversed(range(60)):
        answer = follow(service, "/api/v1/me", **headers)
        assert (answer.status_code, answer.headers["x-ratelimit-remaining"]) == (200, str(left))
    answer = follow(service, "/api/v1/me", **headers)
    assert (answer.status_code, error(answer)) == (429, {"code": "rate_limited", "message": "Too many requests."})
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert (answer.headers["x-ratelimit-limit"], answer.headers["x-ratelimit-remaining"]) == ("60", "0")
    other = {"Authorization": f"Bearer {service.new_key()}"}
    assert follow(service, "/api/v1/me", **other).headers["x-ratelimit-remaining"] == "59"


# ── visitors ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("slug", ["nothing", "%00", "%FF", "a%2Fb", "a/b", "%F0%9F%98%80", "a" * 5000, "'--", "?x"])
def test_a_slug_nobody_has(service: Service, slug: str) -> None:
    answer = follow(service, f"/{slug}")
    if slug == "?x":  # the dashboard, for people who are signed in
        assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/%3Fx")
        return
    assert answer.status_code == 404
    assert "<h1>Link not found" in answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_a_host_nobody_has(service: Service, api: httpx.Client, website: Website) -> None:
    answer = follow(service, f"/{made(api, website)['slug']}", Host="elsewhere.example")
    assert (answer.status_code, answer.content) == (404, b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_a_short_link_is_only_followed(service: Service, api: httpx.Client, website: Website, method: str) -> None:
    answer = follow(service, f"/{made(api, website)['slug']}", method)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
