"""A running service of two processes with a page to link to, shared by a file."""

from collections.abc import Iterator

import pytest
from journeys.service import Service, Website


@pytest.fixture(scope="module")
def website() -> Iterator[Website]:
    with Website() as site:
        yield site


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service"), options=("--workers", "2")) as service:
        yield service


@pytest.fixture
def key(service: Service) -> str:
    """Of its own: each key has a budget of requests."""
    return service.new_key()
