"""A directory and a network for containers."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from deployments.stores import CLIENT
from nodes.network import Network


@pytest.fixture
def directory() -> Iterator[Path]:
    """Not `tmp_path`: PostgreSQL runs as a user of its own."""
    with tempfile.TemporaryDirectory(prefix="waypost-compose-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        network.add("client", CLIENT)
        with network.inside("client"):
            yield network
