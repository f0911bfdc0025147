"""The client in Node.js, against the real service and through a proxy that fails."""

from pathlib import Path

import pytest
from journeys.service import Service, Website
from python_client.fault_proxy import FaultProxy
from typescript_client.tools import node


@pytest.mark.parametrize("program", ["calls", "faults", "units"])
def test_the_client_in_node(
    program: str, consumer: Path, service: Service, website: Website, proxy: FaultProxy
) -> None:
    keys = [service.new_key() for _ in range(12 * (program != "units"))]
    environment = {"SERVICE": service.base_url, "PROXY": proxy.url, "WEBSITE": website.url, "KEYS": ",".join(keys)}
    node("--test", "--test-timeout=60000", f"{program}.test.mjs", cwd=consumer, **environment)
