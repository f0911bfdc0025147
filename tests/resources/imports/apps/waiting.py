"""A turn that reports its process, and waits until it is asked to end."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

from waypost.resources.imports.requests.outcome import Outcome
from waypost.settings import Settings


async def run_import(settings: Settings, *, import_id: UUID, stop: asyncio.Event, **_: Any) -> None:
    Path(settings.data_dir / f"{import_id}.started").write_text(str(os.getpid()))
    await stop.wait()
    sys.stdout.write(Outcome("running", "it was asked to end").to_json())
