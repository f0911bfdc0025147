"""A running service with a page to link to, shared by a file, and a proxy before it that can fail."""

from collections.abc import Iterator

import pytest
from journeys.service import Service, Website
from python_client.fault_proxy import FaultProxy
from waypost_client import Waypost


@pytest.fixture(scope="module")
def website() -> Iterator[Website]:
    with Website() as site:
        yield site


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture
def proxy(service: Service) -> Iterator[FaultProxy]:
    with FaultProxy(service.port) as proxy:
        yield proxy


@pytest.fixture
def client(service: Service) -> Iterator[Waypost]:
    """With a key of its own: each has a budget of requests."""
    with Waypost(service.base_url, service.new_key()) as client:
        yield client


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def through_proxy(proxy: FaultProxy, service: Service, waits: list[float]) -> Iterator[Waypost]:
    """A client that notes how long it would wait, and does not wait."""
    with Waypost(proxy.url, service.new_key(), timeout=5) as client:
        client._sender.sleep = waits.append
        yield client
