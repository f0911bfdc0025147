"""The service page: version, processes, queues, spool, disk, what the checks found, and how the service grows.

A request reads small files and rows, and runs the checks of a start. What takes longer is asked of the worker.
"""

import asyncio
import shutil
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost import installation, metrics
from waypost.accounts.deps import Deps
from waypost.accounts.person_pages import PersonPages
from waypost.installation import Finding
from waypost.kit.clock import EPOCH
from waypost.redirect.spool_gauges import SpoolGauges
from waypost.resources.operator import diagnosis
from waypost.resources.operator.model import find_report
from waypost.settings import Settings
from waypost.version import VERSION, commit
from waypost.web.dashboard import PageCall, SessionAuth, Views, redirect

_OUTDATED = timedelta(days=1)
_QUEUES = "waypost_queue_oldest_due_seconds"


class ServicePages(PersonPages):
    def __init__(self, settings: Settings, deps: Deps, auth: SessionAuth, views: Views) -> None:
        super().__init__(deps, auth, views)
        self._settings = settings

    def endpoints(self) -> list[Route]:
        return [
            self.get("/operator/service", self.show, "operator"),
            self.form("/operator/service/diagnose", self.diagnose, "operator"),
        ]

    async def show(self, call: PageCall) -> Response:
        machine = asyncio.to_thread(_read_machine, self._settings)
        async with self._deps.db.read() as tx:
            diagnosed = await find_report(tx, "diagnosis")
            totals = await find_report(tx, "totals")
            is_running = await diagnosis.is_running(tx)
        quick = [check(self._settings, self._deps.clock) for _, check in installation.CHECKS]
        return call.render(
            "operator/service.html",
            version=VERSION,
            commit=await asyncio.to_thread(commit),
            machine=await machine,
            findings=_findings(diagnosed.content, quick) if diagnosed else quick,
            diagnosed=diagnosed,
            is_outdated=diagnosed is not None and self._deps.clock() - diagnosed.at > _OUTDATED,
            is_running=is_running,
            totals=totals,
            series=_series(totals.content) if totals else {},
            has_tls=self._settings.tls,
            facts={each.check: each for each in quick},
        )

    async def diagnose(self, _: PageCall) -> Response:
        await diagnosis.request(self._deps.context)
        return redirect("/operator/service", "diagnosing")


def _read_machine(settings: Settings) -> Mapping[str, Any]:
    gauges = metrics.read_gauges(settings.data_dir)
    spool = {each.name: each.value for each in SpoolGauges(settings.data_dir / "spool", limit=0)()}
    disk = shutil.disk_usage(settings.data_dir)
    return {
        "processes": {each.labels["kind"]: int(each.value) for each in gauges if each.name == "waypost_processes"},
        "queues": {each.labels["queue"]: each.value for each in gauges if each.name == _QUEUES},
        "spool_bytes": spool["waypost_spool_pending_bytes"],
        "spool_seconds": spool["waypost_spool_oldest_visit_seconds"],
        "spool_limit": settings.spool_limit_mb << 20,
        "disk_free": disk.free,
        "disk_total": disk.total,
    }


def _findings(rows: list[dict[str, Any]], quick: list[Finding]) -> list[Finding]:
    """Return the stored findings, those of quick checks as they are now. Problems first."""
    order, now = ("failed", "warning", "ok"), {finding.check for finding in quick}
    stored = [Finding(**row) for row in rows if row["check"] not in now]
    return sorted(stored + quick, key=lambda finding: order.index(finding.state))


def _series(totals: Mapping[str, Any]) -> Mapping[str, list[tuple[Any, int]]]:
    """Return (day, number) of each day by what is counted."""
    last = totals["last_day"]
    return {
        name: [(EPOCH + timedelta(days=last - len(counts) + 1 + index), count) for index, count in enumerate(counts)]
        for name in ("clicks", "links", "accounts")
        if (counts := totals[name]) is not None
    }
