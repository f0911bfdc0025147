"""Metrics of deliveries, for /metrics. A delivery that cannot be counted is sent all the same."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

import structlog

from waypost import metrics
from waypost.resources.webhooks.delivery.queue import ClaimedDelivery, DeliveryOutcome

if TYPE_CHECKING:
    import prometheus_client

RESULTS = ("delivered", "retried", "failed", "refused")
_DELAYS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)  # seconds

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Series:
    attempts: "prometheus_client.Counter"
    results: "prometheus_client.Counter"
    delay: "prometheus_client.Histogram"


def claimed(deliveries: Sequence[ClaimedDelivery], now: datetime) -> None:
    """Count attempts that start."""
    if series := _series():
        series.attempts.inc(len(deliveries))
        for each in deliveries:
            if each.attempt == 1:
                series.delay.observe(max(0.0, (now - each.created_at).total_seconds()))


def settled(outcomes: Sequence[DeliveryOutcome]) -> None:
    """Count results of attempts."""
    if series := _series():
        for result, count in Counter(map(result_of, outcomes)).items():
            series.results.labels(result).inc(count)


def result_of(outcome: DeliveryOutcome) -> str:
    """One of RESULTS."""
    if not outcome.counts and outcome.status == "failed":
        return "refused"
    return "retried" if outcome.status == "pending" else outcome.status


@cache
def _series() -> _Series | None:
    """Created when there is something to count. None, logged once, where the metrics file cannot be created."""
    try:
        metrics.start_counting()
    except OSError as error:
        log.warning("deliveries are not counted until the worker starts again", error=str(error))
        return None
    from prometheus_client import Counter, Histogram  # noqa: PLC0415  # see above

    attempts = Counter("waypost_webhook_attempts_total", "Delivery attempts started.", registry=None)
    results = Counter("waypost_webhook_results_total", "Delivery attempts by result.", ["result"], registry=None)
    for result in RESULTS:
        results.labels(result)  # starts at zero, so that the first one is visible as an increase
    delay = Histogram(
        "waypost_webhook_first_attempt_delay_seconds",
        "Time from an event to its first delivery attempt.",
        buckets=_DELAYS,
        registry=None,
    )
    return _Series(attempts, results, delay)
