"""A user adds a domain, loses its DNS record, restores it, and deletes the domain."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from journeys.names import Names
from journeys.service import OWNER, Service, Website, eventually
from sqlalchemy import create_engine, select, update

from waypost.resources.domains.model import CHECK_JOB, domains
from waypost.worker.jobs import jobs

BRAND, TARGET = "go.brand.test", "waypost.test"
ROOT, LOST = "https://brand.test/", "https://brand.test/lost"


class Journey:
    def __init__(self, service: Service, names: Names, database_url: str) -> None:
        self.service = service
        self.records = names.server
        self._engine = create_engine(database_url.replace("postgresql://", "postgresql+psycopg://"))

    def close(self) -> None:
        self._engine.dispose()

    def asks(self, method: str, path: str, **fields: Any) -> Any:
        answer = self.service.client.request(method, f"/api/v1{path}", json=fields or None)
        assert answer.is_success, answer.text
        return answer.json()["data"] if answer.content else None

    def domain(self) -> dict[str, Any]:
        [found] = self.asks("GET", "/domains")
        return found

    def verify(self) -> dict[str, Any]:
        """What came of it."""
        before = self._checked_at()
        assert self.asks("POST", f"/domains/{self.domain()['id']}/verify")["status"] == "verifying"
        eventually(lambda: self._checked_at() != before, every=0.05)  # asking the API would spend the key's budget
        return self.domain()

    def a_day_passes(self) -> dict[str, Any]:
        """No setting shortens the day: the check is made due."""
        before = self._checked_at()
        eventually(self._make_due, every=0.05)
        eventually(lambda: self._checked_at() > before, every=0.05)
        return self.domain()

    def _make_due(self) -> bool:
        """Once the check before has ended: at its end, it is set when the next one is due."""
        waits = (jobs.c.name == CHECK_JOB.name) & jobs.c.lease_until.is_(None)
        with self._engine.begin() as tx:
            return tx.execute(update(jobs).where(waits).values(run_at=datetime.now(UTC))).rowcount == 1

    def _checked_at(self) -> datetime | None:
        with self._engine.begin() as tx:
            return tx.execute(select(domains.c.last_checked_at)).scalar_one()

    def visit(self, path: str, host: str = BRAND) -> httpx.Response:
        return self.service.client.get(path, headers={"Host": host})

    def leads(self, path: str, host: str = BRAND) -> str | None:
        answer = self.visit(path, host)
        assert answer.status_code == (302 if "location" in answer.headers else 404)
        return answer.headers.get("location")


@pytest.fixture
def journey(database_url: str, tmp_path: Path) -> Iterator[Journey]:
    with Names() as names:
        settings = {"DATABASE_URL": database_url, "DNS_SERVERS": names.server.address, "CNAME_TARGET": TARGET}
        with Service(tmp_path, **{f"WAYPOST_{name}": value for name, value in settings.items()}) as service:
            opened = Journey(service, names, database_url)
            yield opened
            opened.close()


def test_domain_is_verified_lost_restored_and_deleted(journey: Journey) -> None:
    with Website() as page:
        it = journey
        shared = it.asks("POST", "/links", destination_url=page.url, slug="shared")["hostname"]
        registered = it.asks("POST", "/domains", hostname=BRAND.upper() + ".")
        assert (registered["hostname"], registered["status"]) == (BRAND, "pending")
        txt, cname = ((record["name"], record["value"]) for record in registered["dns_records"])
        assert cname == (BRAND, TARGET)
        it.asks("POST", "/links", destination_url=page.url, slug="spring", hostname=BRAND)
        assert it.leads("/spring") is None
        refused = it.verify()
        assert refused["status"] == "failed"
        assert f"TXT record {txt[0]}: the name does not exist. CNAME record {BRAND}: the name" in refused["error"]
        assert it.leads("/spring") is None

        it.records.has(txt[0], [f'"{txt[1]}"'], kind="TXT")
        found = it.verify()
        assert (found["status"], found["error"], found["links_count"]) == ("verified", None, 1)
        assert it.leads("/spring") == page.url
        assert it.leads("/spring", f"{BRAND.upper()}.:8443") == page.url
        assert it.leads("/spring", shared) is None
        assert it.leads("/shared") is None

        assert "<title>" in it.visit("/").text
        it.asks("PATCH", f"/domains/{found['id']}", root_url=ROOT, not_found_url=LOST)
        assert (it.leads("/"), it.leads("/nothing"), it.leads("/spring")) == (ROOT, LOST, page.url)
        it.asks("PATCH", f"/domains/{found['id']}", root_url=None, not_found_url=None)
        assert (it.leads("/"), it.leads("/nothing")) == (None, None)

        it.records.forgets(txt[0])
        for _ in range(2):
            assert (checked := it.a_day_passes())["status"] == "verified"
            assert checked["error"]
            assert it.leads("/spring") == page.url
        assert it.a_day_passes()["status"] == "failed"
        assert it.leads("/spring") is None
        it.service.log.wait_for(f"Short links on {BRAND} no longer work")
        it.service.log.wait_for(OWNER)

        it.records.has(cname[0], [cname[1]], kind="CNAME")
        assert it.verify()["status"] == "verified"
        assert it.leads("/spring") == page.url
        it.asks("DELETE", f"/domains/{found['id']}")
        assert it.leads("/spring", shared) == page.url
        assert it.leads("/spring") is None
        assert it.visit("/").content == b""
        assert it.asks("GET", "/links?search=spring")[0]["hostname"] == shared
