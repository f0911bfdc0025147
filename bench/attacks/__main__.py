"""`make attack`, or `python -m bench.attacks [--short] [NAME …]`: attack a running service, measure effects on others.

A complete run with compiled redirects (`make attack-compiled`) writes its published rows into docs/design/security.md.
"""

import argparse
import asyncio
import os
import re
import sys
import tempfile
import traceback
from pathlib import Path

from bench import report
from bench.attacks import expensive, imports, incoming, outgoing, routing, sign_in
from bench.attacks.scenario import Latencies, Scenario, say, started_scenario
from bench.report import Row
from waypost.version import redirect_form

ATTACKS = {
    **outgoing.ATTACKS,
    **expensive.ATTACKS,
    **incoming.ATTACKS,
    **sign_in.ATTACKS,
    **routing.ATTACKS,
    **imports.ATTACKS,
}
_DOCUMENT = Path(__file__).parents[2] / "docs" / "design" / "security.md"
_BETWEEN = re.compile(r"(?<=<!-- attacks: begin -->\n).*(?=<!-- attacks: end -->)", re.DOTALL)


def main() -> int:
    given, load = _arguments(), f"{os.getloadavg()[0]:.2f}"
    seconds, connections = (2.0, 50) if given.short else (10.0, 1_000)
    rows = []
    for name in given.names or ATTACKS:
        with tempfile.TemporaryDirectory(prefix="waypost-attack-") as directory:
            rows += _attacked(name, Path(directory), seconds, connections)
    form = redirect_form()
    environment = {"date": report.now(), **report.machine(), "redirects": form, "load before the run": load}
    below = report.listed(environment)
    print(f"{report.table(rows)}\n\n{below}")
    if form == "compiled" and not (given.short or given.names):
        text = f"{report.table(report.published(rows))}\n\n{below}\n"
        _DOCUMENT.write_text(_BETWEEN.sub(lambda _: text, _DOCUMENT.read_text()))
    return int(any(row.value == report.FAILED or (row.is_met is False and not given.short) for row in rows))


def _attacked(name: str, directory: Path, seconds: float, connections: int) -> list[Row]:
    """Start a new service for each attack, so that no attack affects the next one."""
    say(f"{name} …")
    try:
        with started_scenario(directory, seconds=seconds, connections=connections) as scenario:
            rows = asyncio.run(_observed(name, scenario))
    except Exception as error:  # noqa: BLE001  # every error becomes a row
        traceback.print_exc()
        rows = [report.failed(name, error)]
    for row in rows:
        say(f"{row.what}: {row.value} {row.target} {row.verdict} ({row.detail})")
    return rows


async def _observed(name: str, scenario: Scenario) -> list[Row]:
    latencies = list[Latencies]()
    async with scenario.observed(latencies):
        await asyncio.sleep(min(3.0, scenario.seconds))
    scenario.before = latencies[0]
    return await ATTACKS[name](scenario)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.attacks", description="Attack Waypost.")
    parser.add_argument("names", nargs="*", choices=[*ATTACKS, []], metavar="NAME", help=", ".join(ATTACKS))
    parser.add_argument("--short", action="store_true", help="small and fast: checks that it works, not the latencies")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
