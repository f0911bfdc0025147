"""The probes and metrics of every process, made from the settings."""

import asyncio
from collections.abc import Callable, Sequence

from starlette.routing import BaseRoute

from waypost.database import Database
from waypost.http.internal import metrics_route
from waypost.kit.clock import Clock
from waypost.metrics import Gauge
from waypost.redirect.spool_gauges import SpoolGauges
from waypost.resources.webhooks.metrics import PendingGauges
from waypost.serving.probes import health_routes
from waypost.settings import Settings
from waypost.version import VERSION, built_commit, redirect_form


def probe_routes(
    settings: Settings, db: Database, clock: Clock, is_shutting_down: Callable[[], bool]
) -> list[BaseRoute]:
    pending = PendingGauges(db, clock=clock)
    labels = {"version": VERSION, "commit": built_commit(), "redirects": redirect_form()}
    build = Gauge("waypost_build_info", "Always 1; the labels have the version and its commit.", 1, labels)
    spool = SpoolGauges(settings.data_dir / "spool", limit=settings.spool_limit_mb << 20)

    async def gauges() -> Sequence[Gauge]:
        return [build, *await pending.gauges(), *await asyncio.to_thread(spool)]

    trusted, own_hosts = settings.trusted_proxies, settings.own_hosts
    return [
        *health_routes(db, is_shutting_down=is_shutting_down),
        metrics_route(settings.data_dir, gauges, trusted=trusted, own_hosts=own_hosts),
    ]
