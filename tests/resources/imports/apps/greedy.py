"""Runs a turn of an import with little memory, enough to start with."""

import asyncio
from uuid import UUID

from waypost import import_process
from waypost.settings import Settings


async def run_import(settings: Settings, *, import_id: UUID, stop: asyncio.Event) -> None:
    await import_process.run(settings, import_id, stop=stop, memory=12 << 20)
