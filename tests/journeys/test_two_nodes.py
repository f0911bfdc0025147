"""R41: no limit depends on the node. Two services with their own data directories on one database."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from journeys.service import Service


class SecondNode(Service):
    def prepare(self) -> None:
        """Do nothing: the first node has prepared the database."""
        (self.directory / "data").mkdir(parents=True)


@pytest.fixture
def nodes(tmp_path: Path, postgres_url: str) -> Iterator[list[Service]]:
    settings = {"WAYPOST_DATABASE_URL": postgres_url, "WAYPOST_SECRET_KEY": "the same key on both of the nodes"}
    with contextlib.ExitStack() as stack:
        kinds = (Service, SecondNode)
        made = [kind(tmp_path / kind.__name__, options=("--role", "web"), **settings) for kind in kinds]
        for node in made:
            node.directory.mkdir()
            stack.enter_context(node)
        made[1].client.headers["Authorization"] = made[0].client.headers["Authorization"]
        yield made


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
