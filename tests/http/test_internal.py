"""/metrics is only for the operator's own Prometheus, and its values hold for all processes."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest
from journeys.service import Service, eventually
from measured import read
from resources.webhooks.scripted import queue_up, subscribe

from waypost.database import Database, KeyRing
from waypost.http.internal import metrics_route
from waypost.metrics import Gauge
from waypost.web import new_api

PROXY = "10.0.0.7"
VISITOR = "203.0.113.9"
TRUSTED = [ip_network("10.0.0.0/8")]
VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")


async def ask(
    peer: str, path: str = "/metrics", *, verb: str = "GET", data_dir: Path = Path("nowhere"), **headers: str
) -> httpx.Response:
    async def gauges() -> Sequence[Gauge]:
        return [Gauge("waiting", "Those that wait.", 3)]

    route = metrics_route(data_dir, gauges, trusted=TRUSTED, own_hosts=["app.test", "go.test:8000"])
    app = new_api(None, [], [route])  # no endpoint needs a guard
    transport = httpx.ASGITransport(app, client=(peer, 1234))
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx.AsyncClient(transport=transport, base_url="http://app.test") as client:
        return await client.request(verb, path, headers=sent)


async def test_serves_metrics_in_prometheus_format() -> None:
    answer = await ask("127.0.0.1")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert read(answer.text) == {"waiting": 3}


@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        ("127.0.0.1", {}),
        ("::1", {}),
        ("::ffff:127.0.0.1", {}),
        (PROXY, {}),
        (PROXY, {"x_forwarded_for": "127.0.0.1", "x_forwarded_proto": "http"}),
        ("127.0.0.1", {"x_forwarded_for": "10.1.2.3, 10.0.0.8", "via": "1.1 proxy"}),
        (PROXY, {"forwarded": 'for="[::1]:4711";proto=https'}),
    ],
)
async def test_serves_local_and_trusted_peers(peer: str, headers: Mapping[str, str]) -> None:
    assert (await ask(peer, **headers)).status_code == 200


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        (VISITOR, {}),
        ("", {}),
        (VISITOR, {"x_forwarded_for": "127.0.0.1"}),
        (PROXY, {"x_forwarded_for": VISITOR}),
        ("127.0.0.1", {"x_forwarded_for": VISITOR}),
        (PROXY, {"x_forwarded_for": f"127.0.0.1, {VISITOR}"}),
        (PROXY, {"x_forwarded_for": f"{VISITOR}, 127.0.0.1"}),
        (PROXY, {"x_forwarded_for": "unknown"}),
        (PROXY, {"x_forwarded_for": ""}),
        (PROXY, {"x_real_ip": VISITOR}),
        (PROXY, {"x_forwarded_for": "127.0.0.1", "forwarded": f"for={VISITOR}"}),
        (PROXY, {"forwarded": f"for=127.0.0.1, for={VISITOR}"}),
        (PROXY, {"forwarded": "proto=https"}),
        ("127.0.0.1", {"x_forwarded_proto": "https"}),
        ("127.0.0.1", {"via": "1.1 proxy"}),
    ],
)
async def test_is_an_unknown_path_for_others(peer: str, headers: Mapping[str, str], verb: str) -> None:
    answer, unknown = await ask(peer, verb=verb, **headers), await ask(peer, "/metrix", verb=verb, **headers)
    assert (answer.status_code, answer.headers, answer.content) == (404, unknown.headers, unknown.content)


@pytest.mark.parametrize(
    "host",
    [
        "APP.test.",
        "app.test:9000",
        "go.test",
        "127.0.0.1:8000",
        "[::1]:8000",
        "10.0.0.9",
        "localhost:8000",
        "waypost:8000",
        "waypost.default.svc.cluster.local",
        "",
    ],
)
async def test_serves_only_internal_host_names(host: str) -> None:
    assert (await ask(PROXY, host=host)).status_code == 200


@pytest.mark.parametrize("verb", ["GET", "POST"])
@pytest.mark.parametrize(
    "host", ["rebound.example", "rebound.example:8000", "127.0.0.1.nip.io", "app.test.evil.example", "a,app.test", "[x"]
)
async def test_resists_dns_rebinding(host: str, verb: str) -> None:
    """DNS rebinding: its visitor's browser is on this machine, but asks under the page's name."""
    answer, unknown = await ask("127.0.0.1", verb=verb, host=host), await ask("127.0.0.1", "/metrix", verb=verb)
    assert (answer.status_code, answer.content) == (404, unknown.content)


async def test_allows_only_get() -> None:
    answer = await ask("127.0.0.1", verb="POST")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


class Deliveries:
    """To a port where nobody listens, put into the service's queue."""

    def __init__(self, service: Service) -> None:
        data = service.directory / "data"
        self._keys = KeyRing.from_setting((data / "secret.key").read_text())
        self._url = f"sqlite:///{data / 'waypost.db'}"

    def add(self, count: int) -> None:
        asyncio.run(self._add(count))

    async def _add(self, count: int) -> None:
        db = Database(self._url)
        to = await subscribe(db, url="https://127.0.0.1:1/hook", keys=self._keys)
        await queue_up(db, to, count, at=datetime.now(UTC))
        await db.close()


def test_counters_of_the_worker_survive_it(tmp_path: Path) -> None:
    settings = {"WAYPOST_WEBHOOK_BACKOFF": "3600,3600,3600,3600", "WAYPOST_TRUSTED_PROXIES": "127.0.0.1/32"}
    seen = [0.0]
    with Service(tmp_path, **settings) as service:

        def scrape() -> dict[str, float]:
            found = read(service.client.get("/metrics").raise_for_status().text)
            seen.append(found["waypost_webhook_results_total retried"])
            return found

        def retried(count: int) -> bool:
            return scrape()["waypost_webhook_results_total retried"] == count

        assert scrape()["waypost_webhook_pending"] == 0
        deliveries = Deliveries(service)
        deliveries.add(3)
        eventually(lambda: retried(3))
        service.kill("worker")
        assert retried(3)
        deliveries.add(2)
        eventually(lambda: retried(5))
        assert seen == sorted(seen)

        eventually(lambda: scrape()["waypost_webhook_pending"] == 5)
        reported = scrape()
        assert reported["waypost_webhook_attempts_total"] == 5
        assert reported["waypost_webhook_results_total delivered"] == 0
        assert reported["waypost_webhook_first_attempt_delay_seconds_count"] == 5
        assert reported["waypost_webhook_first_attempt_delay_seconds_bucket +Inf"] == 5
        assert reported["waypost_webhook_oldest_pending_seconds"] > 0
        kinds = {name: value for name, value in reported.items() if name.startswith("waypost_processes")}
        assert kinds == {"waypost_processes web": 1, "waypost_processes worker": 1}

        foreign = service.client.get("/metrics", headers={"X-Forwarded-For": VISITOR})
        assert (foreign.status_code, foreign.json()["error"]["code"]) == (404, "not_found")
        assert service.client.get("/metrics", headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 200
