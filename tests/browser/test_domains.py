"""A custom domain in a browser: record, check, certificate; by built-in TLS and through Caddy."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from caddy import Caddy, needs_caddy
from journeys.names import Names
from journeys.service import Service, Website, eventually, free_port
from playwright.async_api import Browser, Error
from resources.domains.certificates.authorities import HERE, NAME, RunningPebble, needs_pebble

from browser.watching import launched

BRAND, CLAIMED = "go.brand.test", "claimed.test"
CERTUTIL = shutil.which("certutil")
needs_certutil = pytest.mark.skipif(not CERTUTIL, reason="certutil is missing: apt-get install libnss3-tools")


@dataclass
class Domain:
    """Registered, verified by its record, with a link on it."""

    link: str
    destination: str
    tls_port: int
    authority: Path

    def rules(self) -> str:
        """Names lead here, and the port of browsers to the port of this test."""
        return ", ".join(f"MAP {name}:443 {HERE}:{self.tls_port}" for name in (BRAND, CLAIMED))


def prepare(service: Service, names: Names, destination: str) -> str:
    def asks(method: str, path: str, **fields: Any) -> Any:
        answer = service.client.request(method, f"/api/v1{path}", json=fields or None)
        assert answer.is_success, answer.text
        return answer.json()["data"]

    asks("POST", "/domains", hostname=CLAIMED)
    domain = asks("POST", "/domains", hostname=BRAND)
    record = domain["dns_records"][0]
    names.server.has(record["name"], [record["value"]], kind=record["type"])
    asks("POST", "/links", slug="hello", destination_url=destination, hostname=BRAND)
    asks("POST", f"/domains/{domain['id']}/verify")
    expected = "active" if "--tls" in service.serving else "none"

    def is_ready() -> bool:
        found = asks("GET", f"/domains/{domain['id']}")
        return (found["status"], found["tls"]["status"]) == ("verified", expected)

    eventually(is_ready, every=0.3)
    return f"https://{BRAND}/hello"


def built_in(directory: Path, stack: ExitStack, names: Names, destination: str) -> Domain:
    pebble = stack.enter_context(RunningPebble(directory))
    names.server.has(NAME, [HERE])
    port = free_port()
    settings = {"ACME_DIRECTORY": pebble.directory, "OUTBOUND_CA_FILE": str(pebble.ca_file)}
    service = unstarted(directory, names, ("--tls", "--tls-port", str(port), "--host", HERE), **settings)
    service.serving[service.serving.index("--port") + 1] = str(pebble.proof_port)
    service.client.base_url = f"http://{HERE}:{pebble.proof_port}"
    stack.enter_context(service)
    roots = directory / "roots.pem"
    roots.write_text(pebble.roots)
    return Domain(prepare(service, names, destination), destination, port, roots)


def through_caddy(directory: Path, stack: ExitStack, names: Names, destination: str) -> Domain:
    service = unstarted(directory, names, (), TRUSTED_PROXIES=f"{HERE}/32")
    stack.enter_context(service)
    caddy = stack.enter_context(Caddy(directory, "app.test").before(service.port))
    return Domain(prepare(service, names, destination), destination, caddy.https_port, caddy.authority)


def unstarted(directory: Path, names: Names, options: tuple[str, ...], **settings: str) -> Service:
    settings |= {"DNS_SERVERS": names.server.address}
    return Service(directory, options=options, **{f"WAYPOST_{name}": value for name, value in settings.items()})


@pytest.fixture(
    params=[pytest.param(built_in, marks=needs_pebble), pytest.param(through_caddy, marks=needs_caddy)],
    ids=["built in", "Caddy"],
)
def domain(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Domain]:
    with ExitStack() as stack:
        names, page = stack.enter_context(Names()), stack.enter_context(Website())
        names.server.has(BRAND, [HERE])
        yield request.param(tmp_path, stack, names, f"{page.url}/")


def trusting(home: Path, authority: Path) -> dict[str, str]:
    """The environment of a Chromium that trusts one authority more than the system does."""
    store = home / ".pki" / "nssdb"
    store.mkdir(parents=True)
    subprocess.run([CERTUTIL, "-d", f"sql:{store}", "-N", "--empty-password"], check=True)
    added = ["-A", "-t", "C,,", "-n", "the test's", "-i", authority]
    subprocess.run([CERTUTIL, "-d", f"sql:{store}", *added], check=True)
    return os.environ | {"HOME": str(home)}


@needs_certutil
async def test_domain_is_connected_and_served_over_https(domain: Domain, tmp_path: Path) -> None:
    rules = f"--host-resolver-rules={domain.rules()}"
    trust = trusting(tmp_path / "home", domain.authority)
    async with launched("--no-sandbox", rules, env=trust) as browser:
        page = await (await browser.new_context()).new_page()
        seen = await page.goto(domain.link)
        assert (page.url, await page.title()) == (domain.destination, "A page")
        before = await seen.request.redirected_from.response()
        assert (before.status, before.url) == (302, domain.link)
        details = await before.security_details()
        assert re.match(r"Pebble|Caddy", details["issuer"])
        assert details["protocol"] == "TLS 1.3"
        assert await refusal(browser, f"https://{CLAIMED}/hello") == "SSL"  # no certificate, whatever is trusted
    async with launched("--no-sandbox", rules, env=os.environ | {"HOME": str(tmp_path)}) as browser:
        assert await refusal(browser, domain.link) == "CERT_AUTHORITY_INVALID"


async def refusal(browser: Browser, url: str) -> str:
    """Chromium's word for it: of all that begins with SSL, no more than that."""
    page = await (await browser.new_context()).new_page()
    with pytest.raises(Error) as caught:
        await page.goto(url)
    return re.search(r"net::ERR_(SSL|\w+)", str(caught.value))[1]
