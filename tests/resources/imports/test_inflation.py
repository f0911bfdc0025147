"""What is small and would become much in memory, and what an import makes of it."""

import re
from pathlib import Path

import pytest
from browsing import Browser, WebApp
from resources.imports.servers.bitly import Bitly
from resources.imports.servers.scripted import TOKEN, always
from resources.imports.test_pages import ada, new_turn, place, row
from sqlalchemy import delete

from bench.attacks.inflation import ANSWERS, UPLOADS, Upload
from waypost.kit.memory import release_free_memory
from waypost.resources.imports import store
from waypost.resources.imports.model import imports
from waypost.resources.imports.requests import turn
from waypost.resources.imports.requests.outcome import Outcome

__all__ = ["ada", "place"]

LIMIT = 100 << 10  # KiB
STATUS = Path("/proc/self/status")


def size_of_process(name: str) -> int:
    """KiB. `VmRSS`: now; `VmHWM`: the most since it was reset."""
    return int(re.findall(rf"{name}:\s+([0-9]+)", STATUS.read_text())[0])


async def run_to_its_end(place: WebApp) -> tuple[Outcome, int]:
    """Import what was requested. Return how that ended, and how many KiB it took."""
    release_free_memory()
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins again
    before = size_of_process("VmRSS")
    with new_turn(place) as of_process:
        for _ in range(5):
            async with place.db.read() as tx:
                request = await store.find(tx, (await row(place)).id)
            assert request
            outcome = await of_process.run(request)
            if outcome.state != "running":
                return outcome, size_of_process("VmHWM") - before
    raise AssertionError("it has no end")


async def upload(place: WebApp, ada: Browser, file: Upload) -> None:
    content = file.content()
    fields = {"file_name": file.name, "file_size": str(len(content))}
    path = (await ada.post(f"/links/import/{file.source}", fields)).json()["url"]
    stored = place.settings.data_dir / "imports" / path.rpartition("/")[2]
    stored.parent.mkdir(exist_ok=True)
    stored.write_bytes(content)
    rest = {"content": b"", "headers": {"Sec-Fetch-Site": "same-origin"}}
    await ada.client.post(f"{path}/pieces?start={len(content)}", **rest)
    await ada.post(f"{path}/start", {"ok": "1"})  # an import reads more than a plan


async def forget(place: WebApp) -> None:
    async with place.db.write() as tx:
        await tx.execute(delete(imports))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_what_would_inflate_takes_little_memory(place: WebApp, ada: Browser) -> None:
    """It is refused with what is wrong, or read in bounded pieces: the limit of the process is for what is unknown."""
    found = {}
    for name, file in UPLOADS.items():
        await upload(place, ada, file)
        outcome, taken = await run_to_its_end(place)
        found[name] = taken, outcome.state, outcome.message
        await forget(place)
    server = Bitly()
    with server.running() as url:
        for name, content in ANSWERS.items():
            server.faults.append(always(200, content()))
            path = (await ada.post("/links/import/bitly", {"token": TOKEN, "url": url})).headers["location"]
            await ada.post(f"{path}/start", {"ok": "1"})
            outcome, taken = await run_to_its_end(place)
            found[name] = taken, outcome.state, outcome.message
            await forget(place)
    report = "\n".join(f"{name}: {taken >> 10} MiB, {result}" for name, (taken, *result) in found.items())
    assert all(taken <= LIMIT for taken, *_ in found.values()), report
    unexpected = {turn.NO_MEMORY, turn.BROKEN}
    assert not [name for name, (*_, message) in found.items() if message in unexpected], report
