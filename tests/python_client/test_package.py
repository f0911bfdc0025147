"""The package as its users have it: types, import, and code that reads it."""

import subprocess
import sys
from pathlib import Path

from architecture.code import ROOT
from waypost_client import __version__

from waypost.version import VERSION

BIN = Path(sys.executable).parent
PROGRAM = """
import asyncio
from datetime import datetime

from waypost_client import AsyncWaypost, Waypost, verify_webhook
from waypost_client.models import Click, Link, LinkClickedEvent

client = Waypost("https://go.example.com", "key")
link: Link = client.links.create(destination_url="https://example.com", tags=["a"], expires_at=None)
client.links.update(link.id, title=None, pixel_ids=link.pixel_ids, utm_params=link.utm_params)
client.links.bulk_create([{"destination_url": "https://example.com", "slug": "a"}])
client.links.set_routing(link.id, rules=client.links.get_routing(link.id).rules)
for each in client.links.list(status="active"):
    clicks: int = each.clicks
created: datetime = link.created_at
event = verify_webhook(b"", [(b"x-signature", b"")], "secret")
if isinstance(event, LinkClickedEvent):
    country: str = event.data.country


async def main() -> None:
    async with AsyncWaypost("https://go.example.com", "key") as waypost:
        async for click in waypost.links.clicks((await waypost.links.get("id")).id):
            found: Click = click


asyncio.run(main())
"""
WRONG = """
from waypost_client import Waypost

client = Waypost("https://go.example.com", "key")
client.links.create(destination="https://example.com")
client.links.list(status="broken")
client.links.get("id").nothing
client.links.bulk_create([{"slug": "a"}])
"""


def test_programs_are_checked_strictly(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [BIN / "mypy", "--strict", "--config-file=", "--cache-dir", ROOT / ".mypy_cache" / "programs"]
    done = subprocess.run([*command, "right.py", "wrong.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert {line.split(":")[0] for line in lines} == {"wrong.py"}, done.stdout
    assert {line.split(":")[1] for line in lines} == {"5", "6", "7", "8"}, done.stdout


def test_the_package_is_correct_for_python_3_10() -> None:
    command = [BIN / "mypy", "--strict", "--config-file=", "--python-version=3.10", "-p", "waypost_client"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_an_import_loads_no_http_client() -> None:
    """httpx takes longer than all the rest, and who verifies webhooks does not need it."""
    program = "import sys, waypost_client; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"httpx", "ssl", "asyncio", "anyio", "pydantic"} & set(done.stdout.split())


def test_the_version_is_that_of_waypost() -> None:
    assert __version__ == VERSION
