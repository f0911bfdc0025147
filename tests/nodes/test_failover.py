"""R41, R42: what goes on while PostgreSQL fails over and nodes die, and that nothing answered is lost."""

import asyncio
import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import httpx
import pytest
from journeys.service import PATIENCE, eventually
from nodes import long_run
from nodes.accounting import compare, settle
from nodes.cluster import BASE_URL, CADDY, DEPLOY, HTTP, Cluster, running_cluster
from nodes.network import needs_namespaces
from nodes.traffic import Site, Traffic

pytestmark = [needs_namespaces, pytest.mark.timeout(600)]

_VISITS = 400  # while there is no database


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def cluster(site: Site) -> Iterator[Cluster]:
    with running_cluster(ca_file=site.ca_file, WAYPOST_WEBHOOK_BACKOFF="1,2,5,10") as cluster:
        yield cluster


async def until(is_so: Callable[[], bool]) -> None:
    await asyncio.to_thread(eventually, is_so)


async def test_postgresql_fails_over_under_traffic(cluster: Cluster, site: Site) -> None:
    processes = [node.children(kind) for node in cluster.nodes for kind in ("web", "worker")]
    async with site.running():
        keys = await cluster.new_keys("alice", "bob")
        traffic = Traffic(keys, rate=60, random=Random(1))
        async with traffic.running(cluster):
            await until(lambda: len(traffic.visited) > 50)
            first = len(traffic.visited)
            await asyncio.to_thread(cluster.postgres.primary.kill)

            async with httpx.AsyncClient(base_url=f"{BASE_URL}/api/v1", trust_env=False, timeout=PATIENCE) as client:
                client.headers["Authorization"] = f"Bearer {keys['bob']}"
                refused = await client.post("/links", json={"destination_url": "http://10.0.0.3/"})
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "http_error")
            assert "Retry-After" in refused.headers
            await until(lambda: len(traffic.visited) > first + _VISITS)

            await asyncio.to_thread(cluster.postgres.fail_over)
            created = len(traffic.accounts[1].created)
            await until(lambda: len(traffic.accounts[1].created) > created + 1)
        unanswered = traffic.is_answered[first : first + _VISITS].count(0)
        assert unanswered <= _VISITS // 100
        await asyncio.to_thread(settle, cluster)
        findings = await compare(cluster, site, traffic)
        await traffic.close()
    assert [finding.text for finding in findings if not finding.is_right] == []
    assert processes == [node.children(kind) for node in cluster.nodes for kind in ("web", "worker")]
    cluster.postgres.rebuild_standby()


async def test_no_visit_is_lost_or_counted_twice(cluster: Cluster, site: Site) -> None:
    faults = ["node_killed", "node_cut_off", "clickhouse_closes_after_inserts"]
    assert await long_run.run(cluster, site, minutes=0.7, rate=60, random=Random(2), faults=faults)


async def test_caddy_balances_the_nodes(cluster: Cluster, site: Site, tmp_path: Path) -> None:
    command = cluster.network.on("caddy", "caddy", "run", "--adapter", "caddyfile", "--config")
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    text = (DEPLOY / "Caddyfile.nodes").read_text().replace("{\n\tauto_https", "{\n\tadmin off\n\tauto_https", 1)
    (tmp_path / "Caddyfile").write_text(text)
    with (tmp_path / "log").open("wb") as log:
        caddy = subprocess.Popen([*command, str(tmp_path / "Caddyfile")], env=environment, stdout=log, stderr=log)
    client = httpx.AsyncClient(base_url=f"http://{CADDY}", headers={"Host": HTTP}, trust_env=False, timeout=PATIENCE)
    try:
        async with site.running(), client:
            [(name, key)] = (await cluster.new_keys("carla")).items()
            traffic = Traffic({name: key}, rate=1, random=Random(3))
            [account] = traffic.accounts
            slug = await account.create()

            async def visit() -> int:
                return (await client.get(f"/{slug}")).status_code

            async def statuses(count: int) -> set[int]:
                return {await visit() for _ in range(count)}

            async def is_answered() -> bool:
                with contextlib.suppress(httpx.ConnectError):  # Caddy does not listen yet
                    return await visit() == 302
                return False

            async with asyncio.timeout(PATIENCE):
                while not await is_answered():
                    await asyncio.sleep(0.1)
            assert await statuses(30) == {302}
            cluster.nodes[0].kill_all()
            assert await statuses(60) == {302}
            cluster.nodes[0].spawn()
            await asyncio.to_thread(cluster.wait_until_ready)
            assert await statuses(60) == {302}

            cluster.postgres.primary.kill()
            try:
                async with asyncio.timeout(PATIENCE):
                    while (await client.get("/readyz", headers={"Host": "localhost"})).status_code != 503:
                        await asyncio.sleep(0.1)
                assert 302 in await statuses(30)
                refused = await client.get("/api/v1/me", headers={"Authorization": f"Bearer {key}"})
                assert (refused.status_code, "Retry-After" in refused.headers) == (503, True)
            finally:
                cluster.postgres.primary.start()
            await traffic.close()
    finally:
        caddy.terminate()
        caddy.wait(PATIENCE)
