"""How long the oldest due item of each queue has been waiting, for /metrics."""

from collections.abc import Iterable, Sequence
from typing import Any

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.metrics import Gauge
from waypost.worker.loop import QueueWorker

INTERVAL = 10.0  # seconds


class QueueAges:
    def __init__(self, db: Database, queues: Sequence[QueueWorker[Any, Any]], *, clock: Clock) -> None:
        self._db = db
        self._queues = queues
        self._clock = clock
        self._ages: dict[str, float] = {}

    async def step(self) -> bool:
        """Measure the ages. Raises Unavailable; then they are unknown."""
        self._ages, ages = {}, {}
        async with self._db.read() as tx:
            for queue in self._queues:
                since = await queue.find_oldest_due(tx)
                ages[queue.name] = max(0.0, (self._clock() - since).total_seconds()) if since else 0.0
        self._ages = ages
        return False

    def gauges(self) -> Iterable[Gauge]:
        """Return no gauges while the database is unavailable."""
        return [
            Gauge(
                "waypost_queue_oldest_due_seconds",
                "Time that the oldest due item of a queue has been waiting, or 0.",
                age,
                {"queue": name.replace(" ", "_")},
                is_maximum=True,
            )
            for name, age in self._ages.items()
        ]
