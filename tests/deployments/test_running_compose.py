"""The service of compose.yaml as it says: its command, user, settings, volume and read-only root."""

from pathlib import Path

import pytest

pytest.importorskip("podman_compose", reason="podman_compose is missing: make test installs it")

from deployments.compose import SERVE, Compose
from deployments.containers import needs_containers, running
from deployments.first_click import api_key, count_a_click, first_click_of
from deployments.stores import CLIENT, wait_until_ready
from journeys.service import Website, eventually
from nodes.network import Network


@needs_containers
def test_sqlite(directory: Path, network: Network) -> None:
    compose = Compose(directory, network, "sqlite")
    waypost = compose.container("waypost", SERVE)
    with running(waypost), Website(CLIENT) as page:
        url, host = "http://10.87.0.21:8000", "localhost:8000"
        with first_click_of("compose.yaml"):
            wait_until_ready(url)
            first_start = compose.image.volume("data") / "first-start.txt"
            eventually(first_start.exists)
            count_a_click(url, api_key(first_start.read_text()), page.url, host=host)
        assert waypost.stop() == 0
