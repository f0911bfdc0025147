"""The composition root: runs the processes of `waypost serve` from the settings.

Each process imports only what it runs: a worker no web server, a redirect process no API.
"""

import asyncio
from typing import Any
from uuid import UUID

from waypost.settings import Settings


async def run_web(settings: Settings, *, role: str, stop: asyncio.Event, **options: Any) -> None:
    """Serve until `stop` is set. See `waypost.web_process`."""
    from waypost import web_process

    await web_process.run(settings, role=role, stop=stop, **options)


async def run_worker(settings: Settings, *, stop: asyncio.Event, **options: Any) -> None:
    """Work until `stop` is set. See `waypost.worker_process`."""
    from waypost import worker_process

    await worker_process.run(settings, stop=stop, **options)


async def run_import(settings: Settings, *, import_id: UUID, stop: asyncio.Event) -> None:
    """Run a turn of an import. See `waypost.import_process`."""
    from waypost import import_process

    await import_process.run(settings, import_id, stop=stop)
