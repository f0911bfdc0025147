"""`make attack`, or `python -m bench.attacks [--short] [NAME …]`: attacks a started service and says what others felt.

The whole run writes its table into docs/security.md.
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
from bench.attacks import expensive, incoming, outgoing, people
from bench.attacks.stage import Felt, Stage, opened, say
from bench.report import Row

ATTACKS = {**outgoing.ATTACKS, **expensive.ATTACKS, **incoming.ATTACKS, **people.ATTACKS}
_DOCUMENT = Path(__file__).parents[2] / "docs" / "security.md"
_BETWEEN = re.compile(r"(?<=<!-- attacks: begin -->\n).*(?=<!-- attacks: end -->)", re.DOTALL)


def main() -> int:
    given, load = _arguments(), os.getloadavg()[0]
    seconds, crowd = (2.0, 50) if given.short else (10.0, 1_000)
    rows = []
    for name in given.names or ATTACKS:
        with tempfile.TemporaryDirectory(prefix="waypost-attack-") as directory:
            rows += _attacked(name, Path(directory), seconds, crowd)
    text = f"{report.table(rows)}\n\n{report.machine(load)}\n"
    print(text)
    if not (given.short or given.names):
        _DOCUMENT.write_text(_BETWEEN.sub(lambda _: text, _DOCUMENT.read_text()))
    return int(any(row.figure == report.FAILED or (row.is_met is False and not given.short) for row in rows))


def _attacked(name: str, directory: Path, seconds: float, crowd: int) -> list[Row]:
    """On a service of its own, so that no attack is helped or hidden by the one before."""
    say(f"{name} …")
    try:
        with opened(directory, seconds=seconds, crowd=crowd) as stage:
            rows = asyncio.run(_observed(name, stage))
    except Exception as error:  # noqa: BLE001  # whatever it is becomes a row of the table
        traceback.print_exc()
        rows = [report.failed(name, error)]
    for row in rows:
        say(f"{row.what}: {row.figure} {row.target} {row.verdict} ({row.detail})")
    return rows


async def _observed(name: str, stage: Stage) -> list[Row]:
    felt = list[Felt]()
    async with stage.observed(felt):
        await asyncio.sleep(min(3.0, stage.seconds))
    stage.before = felt[0]
    return await ATTACKS[name](stage)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.attacks", description="Attack Waypost.")
    parser.add_argument("names", nargs="*", choices=[*ATTACKS, []], metavar="NAME", help=", ".join(ATTACKS))
    parser.add_argument("--short", action="store_true", help="small and quick: to see that it works, not to judge")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
