"""A running service with a page to link to and a receiver of webhooks, and a proxy before it that can fail."""

from collections.abc import Iterator

import pytest
from journeys.service import Service, Website
from python_client.fault_proxy import FaultProxy
from resources.webhooks.receiver import Receiver


@pytest.fixture(scope="module")
def website() -> Iterator[Website]:
    with Website() as site:
        yield site


@pytest.fixture(scope="package")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    with Receiver(tmp_path_factory.mktemp("receiver")) as running:
        yield running


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service"), WAYPOST_OUTBOUND_CA_FILE=str(receiver.ca_file)) as running:
        yield running


@pytest.fixture
def proxy(service: Service) -> Iterator[FaultProxy]:
    with FaultProxy(service.port) as proxy:
        yield proxy
