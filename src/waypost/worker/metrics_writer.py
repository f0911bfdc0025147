"""Writes the metrics of a process to its file, from which any process answers scrapes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from waypost.metrics import MetricsFile, ReadGauges
from waypost.worker.loop import every


@contextlib.asynccontextmanager
async def shared_metrics(data_dir: Path, kind: str, read_gauges: Sequence[ReadGauges]) -> AsyncIterator[None]:
    """Write the metrics of this process for scrapes, once a second and at the end."""
    file, stop = MetricsFile(data_dir, kind, read_gauges), asyncio.Event()
    writing = asyncio.create_task(every(1, partial(asyncio.to_thread, file.write), stop=stop, retry_on=Exception))
    try:
        yield
    finally:
        stop.set()
        await writing
        file.close()
