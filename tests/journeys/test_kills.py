"""R19: `kill -9` of whatever process, under traffic: no answered visit is lost, none is counted twice.

Every visit names itself in its user agent, so that each can be looked for. Rounds: KILL_ROUNDS, 20 in `make test-slow`.
"""

import http.client
import itertools
import os
import threading
from pathlib import Path
from typing import Self

import pytest
from journeys.service import Service, Website, eventually
from sqlalchemy import create_engine, text

ROUNDS = int(os.environ.get("KILL_ROUNDS", "6"))
VICTIMS = ("web", "worker", "parent")
SLUGS = ("one", "two", "three")


class Visitors:
    """Threads that follow links without a pause; they know which of their visits were answered."""

    def __init__(self, service: Service, count: int = 3) -> None:
        self.answered: set[str] = set()
        self.unanswered: set[str] = set()
        self._service = service
        self._numbers = itertools.count()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(count)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for_more(self, count: int) -> None:
        goal = len(self.answered) + count
        eventually(lambda: len(self.answered) >= goal)

    def _run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._service.port, timeout=20)
        while not self._stop.is_set():
            number = next(self._numbers)
            name = f"visit-{number}"
            try:
                connection.request("GET", f"/{SLUGS[number % len(SLUGS)]}", headers={"User-Agent": name})
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                self.unanswered.add(name)
                connection.close()
                self._stop.wait(0.05)
            else:
                assert answer.status == 302
                self.answered.add(name)
        connection.close()


def test_no_answered_visit_is_lost_and_none_is_counted_twice(database_url: str, tmp_path: Path) -> None:
    with Website() as page, Service(tmp_path, WAYPOST_DATABASE_URL=database_url) as service:
        for slug in SLUGS:
            made = service.client.post("/api/v1/links", json={"slug": slug, "destination_url": page.url})
            assert made.status_code == 201, made.text
        with Visitors(service) as visitors:
            for victim in itertools.islice(itertools.cycle(VICTIMS), ROUNDS):
                visitors.wait_for_more(100)
                service.kill(victim)
                if victim == "parent":
                    service.ended()
                    service.start()
        assert service.stop() == 0
        service.start()  # whatever a killed process left behind is drained now
        eventually(lambda: not leftovers(tmp_path))
        rows = told(database_url)  # a segment is removed after its visits are committed
        total = counters(service)
    assert len(rows) == len(set(rows)), "a visit was counted twice"
    assert visitors.answered <= set(rows), "an answered visit was lost"
    assert set(rows) <= visitors.answered | visitors.unanswered
    assert total == len(rows)


def counters(service: Service) -> int:
    answer = service.client.get("/api/v1/links")
    assert answer.status_code == 200, answer.text
    return sum(link["clicks"] for link in answer.json()["data"])


def leftovers(directory: Path) -> list[Path]:
    """Segments with visits in them, apart from the one that the new process writes to."""
    header = len(b"waypost-spool 1\n")
    return [path for path in (directory / "data" / "spool").glob("*.visits") if path.stat().st_size > header]


def told(database_url: str) -> list[str]:
    engine = create_engine(database_url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        names = list(connection.execute(text("SELECT user_agent FROM clicks")).scalars())
    engine.dispose()
    return names


@pytest.mark.parametrize("victim", VICTIMS)
def test_it_serves_again_by_itself(victim: str, tmp_path: Path) -> None:
    with Website() as page, Service(tmp_path) as service:
        service.client.post("/api/v1/links", json={"slug": "one", "destination_url": page.url})
        before = service.children("web") + service.children("worker")
        service.kill(victim)
        if victim == "parent":
            service.ended()
            service.start()
        eventually(lambda: len(service.children("web") + service.children("worker")) == 2)
        assert service.client.get("/one").status_code == 302
        eventually(lambda: told(f"sqlite:///{tmp_path / 'data' / 'waypost.db'}"))
        assert counters(service) == 1
        assert set(service.children("web") + service.children("worker")) != set(before)
