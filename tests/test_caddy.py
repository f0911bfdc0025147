"""deploy/Caddyfile as it is shipped, in Debian's Caddy: HTTPS for verified hostnames, and for no others."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from caddy import Caddy, needs_caddy
from journeys.service import Service, Website, eventually
from sqlalchemy import create_engine, update

from waypost.redirect import ChangeFeed, host_change
from waypost.resources.domains.model import domains

APP, GO, BRAND, CLAIMED = "app.test", "go.test", "go.brand.test", "claimed.test"
VISITOR = "127.0.0.9"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


class Behind:
    """Waypost behind Caddy, as a visitor from another address sees both."""

    def __init__(self, directory: Path) -> None:
        self.caddy = Caddy(directory, APP, GO)
        self.app = f"{APP}:{self.caddy.https_port}"
        settings = {"BASE_URL": f"https://{self.app}", "SHARED_DOMAIN": GO}
        self.service = Service(directory, **{f"WAYPOST_{name}": value for name, value in settings.items()})

    def visit(self, url: str, *, method: str = "GET", **options: Any) -> httpx.Response:
        """Trusts Caddy's authority alone; every name leads to loopback, the default ports to Caddy's."""
        asked = httpx.URL(url)
        host, is_tls = asked.host, asked.scheme == "https"
        port = self.caddy.https_port if is_tls else self.caddy.http_port
        headers = {"Host": self.app if host == APP else host, "User-Agent": FIREFOX} | options.pop("headers", {})
        transport = httpx.HTTPTransport(verify=self.caddy.trusting(), local_address=VISITOR)
        with httpx.Client(transport=transport, timeout=60) as client:
            real = asked.copy_with(host="127.0.0.1", port=port)
            sni = {"sni_hostname": host.removesuffix(".")}  # as browsers write it
            return client.request(method, real, headers=headers, extensions=sni, **options)

    def api(self, method: str, path: str, **fields: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.service.key}"}
        answer = self.visit(f"https://{APP}/api/v1{path}", method=method, headers=headers, json=fields or None)
        assert answer.status_code in {200, 201}, answer.text
        return answer.json()["data"]

    def handshake(self, name: str) -> None:
        with socket.create_connection(("127.0.0.1", self.caddy.https_port), timeout=60) as connection:
            self.caddy.trusting().wrap_socket(connection, server_hostname=name).close()


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Behind]:
    it = Behind(tmp_path)
    with it.service, it.caddy.before(it.service.port):
        yield it


@needs_caddy
def test_caddy_serves_a_verified_domain(behind: Behind, tmp_path: Path) -> None:
    with Website() as page:
        for name in (BRAND, CLAIMED):
            behind.api("POST", "/domains", hostname=name)
        link = behind.api("POST", "/links", slug="hello", destination_url=page.url, hostname=BRAND)
    with pytest.raises(ssl.SSLError):
        behind.handshake(BRAND)  # not verified yet

    prove(tmp_path, BRAND)
    for url in (f"https://{BRAND}/hello", f"http://{BRAND}/hello", f"https://{BRAND.upper()}./hello"):
        seen = behind.visit(url, headers={"X-Forwarded-For": "198.51.100.1", "Forwarded": "for=198.51.100.1"})
        assert (seen.status_code, seen.headers["location"]) == (302, page.url), url
    for scheme in ("http", "https"):
        assert behind.visit(f"{scheme}://{GO}/hello").status_code == 404

    for name in (CLAIMED, "nobody.test", f"a.{BRAND}"):
        with pytest.raises(ssl.SSLError):
            behind.handshake(name)
        assert not behind.caddy.has_certificate(name)
    assert behind.caddy.has_certificate(BRAND)
    assert behind.visit("http://nobody.test/hello").content == b""

    clicks = f"/links/{link['id']}/clicks"
    eventually(lambda: len(behind.api("GET", clicks)) == 3, every=0.5)
    assert {click["ip"] for click in behind.api("GET", clicks)} == {VISITOR}
    assert behind.visit(f"http://{APP}/api/v1/me").status_code == 400


def prove(directory: Path, name: str) -> None:
    """As a check that finds the record does; the journey of domains goes that way."""
    engine = create_engine(f"sqlite:///{directory / 'data' / 'waypost.db'}")
    with engine.begin() as tx:
        tx.execute(update(domains).where(domains.c.hostname == name).values(is_served=True, status="verified"))
    engine.dispose()
    feed = ChangeFeed(directory / "data" / "run" / "changes")
    feed.publish([host_change(name)])
    feed.close()
