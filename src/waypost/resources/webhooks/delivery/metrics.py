"""What is counted of deliveries, for /metrics."""

from collections.abc import Sequence
from datetime import datetime

from waypost.resources.webhooks.delivery.queue import Claimed, Settled


def claimed(deliveries: Sequence[Claimed], now: datetime) -> None:
    """Attempts begun."""


def settled(outcomes: Sequence[Settled]) -> None:
    """What came of attempts."""
