"""R41: no limit depends on the node. Two services with their own data directories on one database."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from domains import domain
from journeys.service import Service, Website, eventually

from waypost.database import Database


class SecondNode(Service):
    def prepare(self) -> None:
        """Do nothing: the first node has prepared the database."""
        (self.directory / "data").mkdir(parents=True)


@pytest.fixture
def options() -> tuple[str, ...]:
    return ("--role", "web")


@pytest.fixture
def nodes(tmp_path: Path, postgres_url: str, options: tuple[str, ...]) -> Iterator[list[Service]]:
    settings = {"WAYPOST_DATABASE_URL": postgres_url, "WAYPOST_SECRET_KEY": "the same key on both of the nodes"}
    with contextlib.ExitStack() as stack:
        kinds = (Service, SecondNode)
        made = [kind(tmp_path / kind.__name__, options=options, **settings) for kind in kinds]
        for node in made:
            node.directory.mkdir()
            stack.enter_context(node)
        made[1].client.headers["Authorization"] = made[0].client.headers["Authorization"]
        yield made


async def add_domain(url: str, account: UUID, hostname: str) -> None:
    db = Database(url)
    await domain(db, account, hostname)
    await db.close()


def spend(nodes: list[Service], method: str, path: str, **options: dict[str, str]) -> Counter[int]:
    """Statuses of 140 requests, eight at a time, in turn to each node."""

    def request(node: Service) -> httpx.Response:
        return node.client.request(method, path, **options)

    with ThreadPoolExecutor(8) as threads:
        return Counter(answer.status_code for answer in threads.map(request, nodes * 70))


def test_a_key_has_one_limit_on_both(nodes: list[Service]) -> None:
    assert spend(nodes, "GET", "/api/v1/me") == {200: 60, 429: 80}


def test_an_address_has_one_limit_of_sign_in_on_both(nodes: list[Service]) -> None:
    headers = {"Sec-Fetch-Site": "same-origin"}
    assert spend(nodes, "POST", "/login/passkey/options", headers=headers) == {200: 60, 429: 80}


def test_an_alias_of_one_redirects_on_both_until_it_is_deleted(nodes: list[Service], postgres_url: str) -> None:
    """Each node answers from memory and hears of changes through the database."""
    first, second = nodes

    def answers(*expected: str) -> None:
        for node in nodes:
            eventually(lambda node=node: visit(node) in expected)

    def visit(node: Service) -> str:
        answer = node.client.get("/summer/sale", headers={"Host": "go.brand.test"})
        return answer.headers.get("location", str(answer.status_code))

    with Website() as site:
        account = UUID(first.client.get("/api/v1/me").json()["data"]["id"])
        asyncio.run(add_domain(postgres_url, account, "go.brand.test"))
        links = [first.client.post("/api/v1/links", json={"destination_url": f"{site.url}/{n}"}) for n in range(2)]
        urls = [f"/api/v1/links/{link.json()['data']['id']}" for link in links]
        new = {"hostname": "go.brand.test", "path": "summer/sale"}
        answers("404")
        alias = second.client.post(f"{urls[0]}/aliases", json=new).json()["data"]
        for _ in range(3):
            answers(f"{site.url}/0")
        assert first.client.patch(urls[0], json={"slug": "renamed"}).status_code == 200
        assert second.client.patch(urls[0], json={"destination_url": f"{site.url}/2"}).status_code == 200
        answers(f"{site.url}/2")
        assert first.client.delete(f"{urls[0]}/aliases/{alias['id']}").status_code == 204
        answers("404")
        assert first.client.post(f"{urls[1]}/aliases", json=new).status_code == 201
        answers(f"{site.url}/1")


@pytest.mark.parametrize("options", [()], ids=["with-workers"])
def test_a_click_limit_holds_on_both_once_clicks_are_stored(nodes: list[Service]) -> None:
    """Until then, a node knows its own clicks: each redirects at most as many visitors as the limit."""
    first, second = nodes
    with Website() as site:
        link = first.client.post("/api/v1/links", json={"destination_url": site.url, "slug": "sale"}).json()["data"]
        path = f"/api/v1/links/{link['id']}"

        def set_limit(clicks: int) -> None:
            assert first.client.put(f"{path}/routing", json={"click_limit": clicks}).status_code == 200
            for node in nodes:  # HEAD is no click; the change reaches the second node within a second
                eventually(lambda node=node: node.client.head("/sale").status_code == 302)

        def has_stored(clicks: int) -> bool:
            return first.client.get(path).json()["data"]["clicks"] == clicks

        set_limit(10)
        assert [first.client.get("/sale").status_code for _ in range(9)] == [302] * 9
        eventually(lambda: has_stored(9), every=1.5)
        assert [second.client.get("/sale").status_code for _ in range(2)] == [302, 404], "it learns of the others"
        eventually(lambda: has_stored(10), every=1.5)
        assert [node.client.get("/sale").status_code for node in nodes] == [404, 404]
        set_limit(30)
        found = spend(nodes, "GET", "/sale")
        assert found[302] + found[404] == 140
        assert 20 <= found[302] <= 40
        eventually(lambda: has_stored(10 + found[302]), every=1.5)
        assert [node.client.get("/sale").status_code for node in nodes] == [404, 404]
        assert first.client.get(path).json()["data"]["status"] == "inactive"
