"""What is counted of deliveries, for /metrics. Refuses to get in their way: what cannot be counted is delivered."""

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
    """Attempts begun."""
    if series := _series():
        series.attempts.inc(len(deliveries))
        for each in deliveries:
            if each.attempt == 1:
                series.delay.observe(max(0.0, (now - each.created_at).total_seconds()))


def settled(outcomes: Sequence[DeliveryOutcome]) -> None:
    """What came of attempts."""
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
    """Made when there is something to count, which idle workers have not. None, told once, where there is no room."""
    try:
        metrics.start_counting()
    except OSError as error:
        log.warning("deliveries are not counted until the worker starts again", error=str(error))
        return None
    from prometheus_client import Counter, Histogram  # noqa: PLC0415  # see above

    attempts = Counter("waypost_webhook_attempts_total", "Attempts begun to deliver an event.", registry=None)
    results = Counter("waypost_webhook_results_total", "What came of attempts.", ["result"], registry=None)
    for result in RESULTS:
        results.labels(result)  # begins at zero, so that the first one is seen to be an increase
    delay = Histogram(
        "waypost_webhook_first_attempt_delay_seconds",
        "From an event to the first attempt to deliver it.",
        buckets=_DELAYS,
        registry=None,
    )
    return _Series(attempts, results, delay)
