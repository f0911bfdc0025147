"""Runs one turn of an import from the settings, within a limit of memory, and prints its outcome for the worker."""

import asyncio
import contextlib
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from waypost.composition import new_context, new_destination_checker
from waypost.database import Database
from waypost.kit.memory import limited_memory, prefer_to_be_killed
from waypost.redirect import ChangeFeed
from waypost.resources.imports import store
from waypost.resources.imports.deps import new_deps
from waypost.resources.imports.requests.outcome import Outcome
from waypost.resources.imports.requests.turn import Turn
from waypost.resources.imports.requests.uploads import new_uploads
from waypost.settings import Settings

_MEMORY = 256 << 20
"""Bytes that a turn may take besides what the process takes at its start. Decoding an image takes half of it."""
_THREADS = 4
_LONGEST = 46
"""Seconds until the process ends itself, because it hangs: without memory even the end of a thread may get lost."""


async def run(settings: Settings, import_id: UUID, *, stop: asyncio.Event, memory: int = _MEMORY) -> None:
    signal.alarm(_LONGEST)
    prefer_to_be_killed()
    await _start_threads()
    async with contextlib.AsyncExitStack() as stack:
        db = await stack.enter_async_context(Database(settings.database))
        feed = ChangeFeed(settings.data_dir / "run" / "changes")
        stack.callback(feed.close)
        context = new_context(settings, db, feed.publish)
        stack.push_async_callback(context.click_store.close)
        deps = new_deps(settings, context, new_destination_checker(settings, context.outbound))
        turn = Turn(deps, new_uploads(db, settings.data_dir), deps.outbound, time.monotonic, stop)
        async with db.read() as tx:
            import_ = await store.find(tx, import_id)
        with limited_memory(memory):
            outcome = await turn.run(import_) if import_ else Outcome("given_up")
        sys.stdout.write(outcome.to_json())


async def _start_threads() -> None:
    """Later there may be no memory for another one, and nobody would learn that it has not started."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
    all_run = threading.Barrier(_THREADS)
    await asyncio.gather(*(asyncio.to_thread(all_run.wait) for _ in range(_THREADS)))
