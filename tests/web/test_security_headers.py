"""`nosniff` on every answer, HSTS on those of the own hosts over HTTPS, as they leave the process."""

import re
import socket
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import httpx
import pytest
from journeys.service import Service, Website

from waypost.kit.clock import now
from waypost.web import well_known

BASE, SHARED = "app.example.com", "go.example.com"
SETTINGS = {
    "WAYPOST_BASE_URL": f"https://{BASE}",
    "WAYPOST_SHARED_DOMAIN": SHARED,
    "WAYPOST_TRUSTED_PROXIES": "127.0.0.1/32",
    "WAYPOST_CONTACT_EMAIL": "security+%?@example.com",
}
HTTPS = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https"}
PLAIN = HTTPS | {"X-Forwarded-Proto": "http"}
FACEBOOK = "facebookexternalhit/1.1"
NOSNIFF, HSTS = "x-content-type-options", "strict-transport-security"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Website() as site, Service(tmp_path_factory.mktemp("headers"), **SETTINGS) as service:
        made = {"destination_url": site.url, "slug": "plain"}
        pixel = _ask(service, "POST", BASE, "/api/v1/pixels", json=PIXEL).json()["data"]["id"]
        for fields in (made, made | {"slug": "fired", "pixel_ids": [pixel]}):
            assert _ask(service, "POST", BASE, "/api/v1/links", json=fields).status_code == 201
        yield service


PIXEL = {"platform": "facebook", "name": "A pixel", "pixel_id": "123456"}


def _ask(
    service: Service, method: str, host: str, path: str, proxy: dict[str, str] = HTTPS, **rest: object
) -> httpx.Response:
    headers = proxy | {"Host": host} | rest.pop("headers", {})
    return service.client.request(method, path, headers=headers, **rest)


ANSWERS = [
    ("GET", BASE, "/healthz", 200),
    ("GET", BASE, "/readyz", 200),
    ("GET", BASE, "/robots.txt", 200),
    ("GET", BASE, "/favicon.ico", 204),
    ("GET", BASE, "/login", 200),
    ("GET", BASE, "/docs", 200),
    ("GET", BASE, "/links", 303),
    ("GET", BASE, "/nothing/here", 404),
    ("GET", BASE, "/media/none", 404),
    ("GET", BASE, "/api/openapi.json", 200),
    ("GET", BASE, "/api/v1/me", 200),
    ("GET", BASE, "/api/v1/nothing", 404),
    ("PUT", BASE, "/api/v1/links", 405),
    ("POST", BASE, "/api/v1/links", 422),
    ("GET", BASE, "/.well-known/acme-challenge/none", 404),
    ("GET", BASE, "/.well-known/security.txt", 200),
    ("HEAD", BASE, "/.well-known/gpc.json", 200),
    ("POST", BASE, "/.well-known/gpc.json", 405),
    ("GET", SHARED, "/.well-known/security.txt", 404),
    ("GET", SHARED, "/.well-known/gpc.json", 404),
    ("GET", SHARED, "/plain", 302),
    ("HEAD", SHARED, "/plain", 302),
    ("GET", SHARED, "/fired", 200),
    ("HEAD", SHARED, "/fired", 200),
    ("GET", SHARED, "/unknown", 404),
    ("HEAD", SHARED, "/unknown", 404),
    ("POST", SHARED, "/plain", 405),
    ("GET", SHARED, "/", 404),
]


@pytest.mark.parametrize(("method", "host", "path", "status"), ANSWERS)
def test_https_responses_have_security_headers(
    service: Service, method: str, host: str, path: str, status: int
) -> None:
    answer = _ask(service, method, host, path)
    assert answer.status_code == status
    assert answer.headers.get_list(NOSNIFF) == ["nosniff"]
    assert answer.headers.get_list(HSTS) == ["max-age=31536000"]


def test_previews_and_qr_images_have_security_headers(service: Service) -> None:
    link = _ask(service, "GET", BASE, "/api/v1/links").json()["data"][0]
    code = _ask(service, "GET", BASE, f"/api/v1/links/{link['id']}/qrcode").json()["data"]
    asset = re.search(r'"(/assets/[^"]+)"', _ask(service, "GET", BASE, "/login").text)
    assert asset
    for answer in (
        _ask(service, "GET", SHARED, "/plain", headers={"User-Agent": FACEBOOK}),
        _ask(service, "GET", BASE, code["svg_url"].removeprefix(f"https://{BASE}")),
        _ask(service, "GET", BASE, asset[1]),
    ):
        assert answer.status_code == 200
        assert [answer.headers.get_list(name) for name in (NOSNIFF, HSTS)] == [["nosniff"], ["max-age=31536000"]]


@pytest.mark.parametrize(
    ("host", "path", "proxy"),
    [
        (BASE, "/login", PLAIN),
        (BASE, "/api/v1/me", PLAIN),
        (BASE, "/healthz", {}),
        ("unknown.example.net", "/plain", HTTPS),
        ("unknown.example.net", "/healthz", HTTPS),
        ("127.0.0.1", "/healthz", HTTPS),
    ],
)
def test_sends_hsts_only_over_https_on_own_hosts(service: Service, host: str, path: str, proxy: dict[str, str]) -> None:
    answer = _ask(service, "GET", host, path, proxy)
    assert (answer.headers.get_list(NOSNIFF), HSTS in answer.headers) == (["nosniff"], False)


@pytest.mark.parametrize("sent", [b"BREW / HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\r\n\r\n"])
def test_malformed_requests_get_security_headers(service: Service, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        connection.sendall(sent)
        head = connection.makefile("rb").read().lower().partition(b"\r\n\r\n")[0]
    assert head.count(b"\r\nx-content-type-options: nosniff") == 1


def test_names_the_contact_and_the_privacy_control(service: Service) -> None:
    answer = _ask(service, "GET", BASE, "/.well-known/security.txt")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    fields = dict(line.split(": ", 1) for line in answer.text.splitlines())
    expires = datetime.fromisoformat(fields.pop("Expires"))
    assert timedelta() < expires - datetime.now(UTC) < timedelta(days=365)
    assert fields == {
        "Contact": "mailto:security+%25%3F@example.com",
        "Canonical": f"https://{BASE}/.well-known/security.txt",
    }
    answer = _ask(service, "GET", BASE, "/.well-known/gpc.json")
    assert answer.headers["Content-Type"] == "application/json"
    statement = answer.json()
    assert (statement["gpc"], date.fromisoformat(statement["lastUpdate"]) <= date.today()) == (True, True)


def test_there_is_no_security_txt_without_a_contact() -> None:
    assert [route.path for route in well_known.routes(f"https://{BASE}", "", now)] == ["/.well-known/gpc.json"]
