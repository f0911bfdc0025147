"""Runs `waypost doctor` for the service page: as a job of the worker, in a process of its own.

Its checks read the whole database file and send requests, which no page waits for.
"""

import asyncio
import json
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE
from typing import Any
from uuid import UUID

from waypost.context import Context
from waypost.database import Tx
from waypost.resources.operator.model import ServiceReport, save_report
from waypost.worker import jobs

JOB = jobs.JobKind("operator.diagnose", jobs.LONG, max_attempts=1)
_ID = UUID(int=1)
"""There is one job, however often operators ask for it."""
_MAX_SECONDS = 45.0
_COMMAND = (sys.executable, "-P", "-c", "from waypost.cli import main; main()", "doctor", "--json")
_FAILED = "The checks could not be run. Run waypost doctor in a terminal."
_TOO_SLOW = f"The checks took more than {_MAX_SECONDS:.0f} seconds. Run waypost doctor in a terminal."


async def request(context: Context) -> None:
    async with context.db.write() as tx:
        await jobs.enqueue(tx, JOB, {}, now=context.clock(), id_=_ID)


async def is_running(tx: Tx) -> bool:
    return await jobs.is_pending(tx, _ID)


async def run(context: Context, _job: jobs.Job) -> None:
    findings = await _run_doctor()
    report = ServiceReport(socket.gethostname(), context.clock(), findings)
    async with context.db.write() as tx:
        await save_report(tx, "diagnosis", report)


async def _run_doctor() -> list[dict[str, Any]]:
    """Return the findings as the command prints them. It has the settings of the worker, from its environment."""
    process = await asyncio.create_subprocess_exec(*_COMMAND, stdin=DEVNULL, stdout=PIPE)
    try:
        async with asyncio.timeout(_MAX_SECONDS):
            output, _ = await process.communicate()
        findings: list[dict[str, Any]] = json.loads(output)
    except TimeoutError:
        return [_finding(_TOO_SLOW)]
    except ValueError:  # it has said why on stderr, which is the worker's log
        return [_finding(_FAILED)]
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return findings


def _finding(message: str) -> dict[str, Any]:
    return {"check": "diagnostics", "state": "failed", "message": message, "advice": ""}
