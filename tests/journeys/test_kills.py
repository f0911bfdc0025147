"""R19: `kill -9` of whatever process, under traffic: no answered visit is lost, none is counted twice.

Every visit names itself in its referrer, so that each can be looked for. After each round all that is added up agrees
with the rows, and the API with both. Rounds: KILL_ROUNDS, by default one of each process and one look at the end of all
three; 20 in `make test-slow`, with a look after each. Beside it, a change of many links continues.
"""

import asyncio
import http.client
import itertools
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import pytest
from journeys.recount import agree
from journeys.service import Service, Website, eventually, leftovers
from resources.clicks.visited import new_link
from resources.links.added import add_links
from sqlalchemy import select, update

from waypost.database import Database
from waypost.kit.clock import EPOCH
from waypost.resources.links.labels import find_labels
from waypost.resources.links.tags.model import tags
from waypost.worker.jobs import jobs

VICTIMS = ("web", "worker", "parent")
ROUNDS = int(os.environ.get("KILL_ROUNDS", len(VICTIMS)))
EVERY = 1 if "KILL_ROUNDS" in os.environ else ROUNDS  # a visit that is lost stays lost, and a look takes a restart
SLUGS = ("one", "two", "three")
SITE = "https://visits.example/"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
KINDS: list[tuple[str, dict[str, str]]] = [
    *[("human", {"User-Agent": BROWSER}), ("human", {"User-Agent": "curl/8.14.1"})] * 3,
    ("crawler", {"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"}),
    ("preview", {"User-Agent": "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"}),
    ("prefetch", {"User-Agent": BROWSER, "Sec-Purpose": "prefetch"}),
]
"""Visits take turns: what each is, and how it shows."""


class Visitors:
    """Threads that follow links, a thousand a second in all; they know which of their visits were answered."""

    def __init__(self, service: Service, numbers: Iterator[int], count: int = 3) -> None:
        self.answered: set[str] = set()
        self.unanswered: set[str] = set()
        self._service = service
        self._numbers = numbers
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
        connection = http.client.HTTPConnection("127.0.0.1", self._service.port, timeout=60)
        while not self._stop.is_set():
            number = next(self._numbers)
            name = f"{SITE}{number}"
            kind, headers = KINDS[number % len(KINDS)]
            try:
                connection.request("GET", f"/{SLUGS[number // 7 % len(SLUGS)]}", headers={**headers, "Referer": name})
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                self.unanswered.add(name)
                connection.close()
                self._stop.wait(0.05)
            else:
                if answer.status == 503:  # a new process has no routes yet, and its database is slow
                    self.unanswered.add(name)
                else:
                    assert answer.status == (200 if kind in {"crawler", "preview"} else 302)
                    self.answered.add(name)
                self._stop.wait(0.002)  # more would only take longer to look for
        connection.close()


@pytest.mark.timeout(300 + 20 * ROUNDS)
def test_no_answered_visit_is_lost_and_none_is_counted_twice(database_url: str, tmp_path: Path) -> None:
    answered, unanswered = set[str](), set[str]()
    with Website() as page, Service(tmp_path, WAYPOST_DATABASE_URL=database_url) as service:
        for slug in SLUGS:
            made = service.client.post("/api/v1/links", json={"slug": slug, "destination_url": page.url})
            assert made.status_code == 201, made.text
        numbers = itertools.count()
        for number, victim in enumerate(itertools.islice(itertools.cycle(VICTIMS), ROUNDS), 1):
            with Visitors(service, numbers) as visitors:
                visitors.wait_for_more(100)
                service.kill(victim)
                if victim == "parent":
                    service.ended()
                    service.start()
                agree(database_url)  # in the midst of it
                visitors.wait_for_more(20)
            answered |= visitors.answered
            unanswered |= visitors.unanswered
            if number % EVERY:
                continue
            service.stop()  # on a busy machine a process may not end in time, and is killed, too
            service.start()  # whatever a killed process left behind is drained now
            eventually(lambda: not leftovers(tmp_path))  # a segment is removed after its visits are committed
            rows = agree(database_url)
            names = [row.referrer for row in rows]
            assert len(names) == len(set(names)), "a visit was counted twice"
            assert answered <= set(names), "an answered visit was lost"
            assert set(names) <= answered | unanswered
            assert all(row.kind == KINDS[int(row.referrer.removeprefix(SITE)) % len(KINDS)][0] for row in rows)
            assert reported(service, authorization(service)) == Counter(row.kind for row in rows)


def authorization(service: Service) -> dict[str, str]:
    """With a new key: each has sixty requests a minute, and rounds take seconds."""
    return {"Authorization": f"Bearer {service.new_key()}"}


def reported(service: Service, headers: dict[str, str]) -> Counter[str]:
    """Visits by kind, once the lists, the stats and the links' counters of the API agree on them."""
    stats = ask(service, "/stats", headers)["data"]
    totals = {
        kind: ask(service, f"/clicks?kind={kind}", headers)["meta"]["total"]
        for kind in ("human", "crawler", "preview", "prefetch")
    }
    links = ask(service, "/links", headers)["data"]
    humans = [ask(service, f"/links/{link['id']}/stats", headers)["data"]["clicks"] for link in links]
    assert humans == [link["clicks"] for link in links]
    assert (sum(humans), stats["crawlers"], stats["previews"]) == tuple(totals.values())[:3]
    assert stats["clicks"] == sum(entry["clicks"] for entry in stats["series"]) == totals["human"]
    return +Counter(totals)


def ask(service: Service, path: str, headers: dict[str, str]) -> Any:
    answer = service.client.get(f"/api/v1{path}", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_it_serves_again_by_itself(tmp_path: Path) -> None:
    with Website() as page, Service(tmp_path) as service:
        service.client.post("/api/v1/links", json={"slug": "one", "destination_url": page.url})
        for count, victim in enumerate(VICTIMS, 1):
            before = service.children("web") + service.children("worker")
            service.kill(victim)
            if victim == "parent":
                service.ended()
                service.start()
            eventually(lambda: len(service.children("web") + service.children("worker")) == 2)
            assert service.client.get("/one").status_code == 302
            eventually(lambda count=count: len(agree(f"sqlite:///{tmp_path / 'data' / 'waypost.db'}")) == count)
            assert reported(service, {}) == Counter(human=count)
            assert set(service.children("web") + service.children("worker")) != set(before)


async def test_a_tag_gets_its_new_name_although_the_worker_is_killed(database_url: str, tmp_path: Path) -> None:
    """In the midst of the links: each has one of the two names at any time, and the new one in the end."""
    with Service(tmp_path, WAYPOST_DATABASE_URL=database_url) as service:
        account, db = UUID(service.client.get("/api/v1/me").json()["data"]["id"]), Database(database_url)
        made = [new_link(account, tags=["first", "old", "last"]) for _ in range(1_500)]
        async with db.write() as tx:
            await add_links(tx, made)

        async def count_links() -> dict[str, int]:
            async with db.read() as tx:
                return dict(await tx.execute(select(tags.c.name, tags.c.links_count)))

        tag = service.client.get("/api/v1/tags?search=old").json()["data"][0]
        answer = service.client.patch(f"/api/v1/tags/{tag['id']}", json={"name": "new"})
        assert (answer.status_code, answer.json()["data"]["id"]) == (200, tag["id"])
        while (counted := await count_links())["new"] == 0:
            await asyncio.sleep(0.005)
        service.kill("worker")
        assert 0 < counted["old"] < len(made)
        async with db.write() as tx:  # a minute later, when the lease of the dead worker has ended
            await tx.execute(update(jobs).values(lease_until=EPOCH))
        while "old" in (counted := await count_links()):
            assert counted["old"] + counted["new"] == len(made)
            await asyncio.sleep(0.02)
        async with db.read() as tx:
            found = await find_labels(tx, [link.id for link in made], shared_domain="")
        await db.close()
        assert counted == {"first": len(made), "new": len(made), "last": len(made)}
        assert {tuple(labels.tags) for labels in found.values()} == {("first", "new", "last")}
