"""The client in Node.js, Deno and Bun, against the real service and through a proxy that fails."""

from pathlib import Path

import pytest
from journeys.service import Service, Website
from python_client.fault_proxy import FaultProxy
from typescript_client.tools import Runtime, run_tests


@pytest.mark.parametrize(
    ("runtime", "program"),
    [
        ("node", "calls"),
        *((runtime, program) for runtime in ("node", "deno", "bun") for program in ("faults", "units")),
    ],
)
def test_the_client_in(
    runtime: Runtime, program: str, consumer: Path, service: Service, website: Website, proxy: FaultProxy
) -> None:
    keys = [service.new_key() for _ in range(12 * (program != "units"))]
    environment = {"SERVICE": service.base_url, "PROXY": proxy.url, "WEBSITE": website.url, "KEYS": ",".join(keys)}
    run_tests(runtime, f"./{program}.test.mjs", consumer, **environment)
