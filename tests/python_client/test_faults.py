"""The client against the real service, through a proxy that fails."""

import asyncio
import itertools
import pickle

import httpx
import pytest
from journeys.service import Service, Website, free_port
from python_client.fault_proxy import Fault, FaultProxy
from waypost_client import (
    AsyncWaypost,
    ConnectionFailed,
    NotFound,
    RateLimited,
    ServerError,
    Unauthenticated,
    UnexpectedResponse,
    ValidationError,
    Waypost,
)

FAULTS: list[Fault] = ["drop before", "drop after", "half", "503", "429", "502"]


@pytest.mark.parametrize("fault", FAULTS)
def test_creates_one_link_despite_a_fault(
    fault: Fault, through_proxy: Waypost, proxy: FaultProxy, website: Website, waits: list[float]
) -> None:
    tag = f"fault {fault}"
    proxy.faults.append(fault)
    link = through_proxy.links.create(destination_url=website.url, tags=[tag])
    assert [each.id for each in through_proxy.links.list(tag=tag)] == [link.id]
    first, second = proxy.seen[:2]
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert (first.body, len(waits)) == (second.body, 1)
    assert waits == [7] if fault in {"429", "503"} else 0.375 <= waits[0] <= 0.625


@pytest.mark.parametrize("fault", ["drop before", "drop after", "half"])
def test_changes_and_deletes_despite_a_fault(
    fault: Fault, through_proxy: Waypost, proxy: FaultProxy, website: Website
) -> None:
    link = through_proxy.links.create(destination_url=website.url)
    proxy.faults.append(fault)
    assert through_proxy.links.update(link.id, title="Changed").title == "Changed"
    proxy.faults.append(fault)
    assert through_proxy.links.get(link.id).title == "Changed"
    proxy.faults.append("drop after" if fault == "half" else fault)  # a 204 has no half
    through_proxy.links.delete(link.id)
    with pytest.raises(NotFound):
        through_proxy.links.get(link.id)


def test_a_deletion_of_nothing_is_an_error(through_proxy: Waypost, website: Website) -> None:
    link = through_proxy.links.create(destination_url=website.url)
    through_proxy.links.delete(link.id)
    with pytest.raises(NotFound):
        through_proxy.links.delete(link.id)


def test_gives_up_after_three_retries(through_proxy: Waypost, proxy: FaultProxy, waits: list[float]) -> None:
    proxy.faults.extend(["drop before"] * 4)
    with pytest.raises(ConnectionFailed, match=f"GET {proxy.url}/api/v1/me failed: ."):
        through_proxy.account.get()
    assert len(proxy.seen) == 4
    assert waits == sorted(waits)
    proxy.faults.extend(["503"] * 4)
    with pytest.raises(ServerError) as caught:
        through_proxy.account.get()
    assert (caught.value.status, caught.value.retry_after) == (503, 7)


def test_waits_no_longer_than_a_minute(
    through_proxy: Waypost, proxy: FaultProxy, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("python_client.fault_proxy.RETRY_AFTER", "25")
    proxy.faults.extend(["429"] * 4)
    with pytest.raises(RateLimited) as caught:
        through_proxy.account.get()
    assert (waits, caught.value.retry_after) == ([25, 25], 25)


def test_a_response_that_does_not_come_is_a_fault(through_proxy: Waypost, proxy: FaultProxy) -> None:
    proxy.faults.append("slow")
    assert through_proxy.account.get().plan.type == "lifetime"
    assert len(proxy.seen) == 2


def test_names_an_unreachable_service() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with Waypost(url, "wp_live_key", retries=0) as client, pytest.raises(ConnectionFailed, match=url):
        client.account.get()


def test_another_server_gets_a_clear_error(through_proxy: Waypost, proxy: FaultProxy, website: Website) -> None:
    for fault, text in (
        ("page", "got 200 OK with a page .text/html.*Check base_url"),
        ("redirect", "a redirect to https://go.example.com/api/v1/me.*Check base_url"),
        ("not json", "not a response of Waypost"),
    ):
        proxy.faults.append(fault)
        with pytest.raises(UnexpectedResponse, match=text):
            through_proxy.account.get()
    with Waypost(website.url, "wp_live_key") as client, pytest.raises(UnexpectedResponse, match="Check base_url"):
        client.account.get()


def test_says_that_https_is_needed(tmp_path, service: Service) -> None:
    with (
        Service(tmp_path, WAYPOST_BASE_URL="https://go.example.com") as secure,
        Waypost(f"http://127.0.0.1:{secure.port}", secure.key) as client,
        pytest.raises(Exception, match="HTTPS") as caught,
    ):
        client.account.get()
    assert caught.value.status == 400


def test_errors_of_the_service_have_classes(service: Service, client: Waypost, website: Website) -> None:
    with Waypost(service.base_url, "wp_live_wrong") as stranger, pytest.raises(Unauthenticated) as unknown:
        stranger.account.get()
    assert (unknown.value.status, unknown.value.code) == (401, "unauthenticated")
    with pytest.raises(ValidationError) as invalid:
        client.links.create(destination_url="ftp://example.com", slug="a b")
    assert set(invalid.value.errors) == {"destination_url", "slug"}
    assert "slug: " in str(invalid.value)
    copied = pickle.loads(pickle.dumps(invalid.value))
    assert (copied.errors, copied.status, str(copied)) == (invalid.value.errors, 422, str(invalid.value))
    with pytest.raises(ValidationError) as unparsable:
        client.domains.create(hostname="localhost")
    assert (unparsable.value.status, list(unparsable.value.errors)) == (406, ["hostname"])


def test_a_key_repeats_a_call_of_another_process(client: Waypost, website: Website) -> None:
    made = [client.links.create(destination_url=website.url, idempotency_key="order 1".replace(" ", "-")) for _ in "12"]
    assert made[0] == made[1]


async def test_the_asynchronous_client_is_as_patient(service: Service, proxy: FaultProxy, website: Website) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async with AsyncWaypost(proxy.url, service.new_key(), timeout=60) as client:
        client._sender.sleep = sleep
        for fault in FAULTS:
            proxy.faults.append(fault)
            link = await client.links.create(destination_url=website.url, tags=[f"async {fault}"])
            assert [each.id async for each in client.links.list(tag=f"async {fault}")] == [link.id]
        proxy.faults.append("drop after")
        await client.links.delete(link.id)
        assert len(waits) == len(FAULTS) + 1
        proxy.faults.extend(["drop before"] * 4)
        with pytest.raises(ConnectionFailed):
            await client.account.get()


async def test_a_cancelled_iteration_closes_its_connection(service: Service, proxy: FaultProxy) -> None:
    http = httpx.AsyncClient()
    async with http, AsyncWaypost(proxy.url, service.new_key(), http_client=http) as client:
        proxy.faults.append("slow")
        reading = asyncio.ensure_future(anext(client.links.list()))
        while not proxy.seen:
            await asyncio.sleep(0.01)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert http._transport._pool.connections == []  # type: ignore[attr-defined]
        assert (await client.account.get()).plan.active


def test_an_iteration_that_ends_early_reads_no_further(client: Waypost, website: Website) -> None:
    client.links.bulk_create([{"destination_url": website.url, "tags": ["early"]} for _ in range(4)])
    asked: list[int] = []
    send = client._sender.send
    client._sender.send = lambda *given, **options: asked.append(1) or send(*given, **options)  # type: ignore[method-assign]
    links = client.links.list(tag="early", per_page=2)
    assert len(asked) == 0
    assert [each.tags for each in itertools.islice(links, 2)] == [["early"]] * 2
    assert len(asked) == 1
    assert len(list(links)) == 2
    assert len(asked) == 2
