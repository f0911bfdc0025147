"""The probes and metrics of every process, made from the settings."""

from collections.abc import Callable

from starlette.routing import BaseRoute

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.webhooks.metrics import PendingGauges
from waypost.serving.internal import metrics_route
from waypost.serving.probes import health_routes
from waypost.settings import Settings


def probe_routes(
    settings: Settings, db: Database, clock: Clock, is_shutting_down: Callable[[], bool]
) -> list[BaseRoute]:
    gauges = PendingGauges(db, clock=clock).gauges
    trusted, own_hosts = settings.trusted_proxies, settings.own_hosts
    return [
        *health_routes(db, is_shutting_down=is_shutting_down),
        metrics_route(settings.data_dir, gauges, trusted=trusted, own_hosts=own_hosts),
    ]
