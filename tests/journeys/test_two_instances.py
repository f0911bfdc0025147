"""Two `waypost serve` with one data directory on one machine, as while one container replaces another."""

import re
from pathlib import Path

from journeys.service import Service, Website, eventually


class First(Service):
    def prepare(self) -> None:
        """Nothing: it creates the database, the secret key and the first account itself."""


def test_two_instances_share_a_data_directory(tmp_path: Path) -> None:
    with Website() as page:
        one = First(tmp_path, WAYPOST_BASE_URL="http://waypost.test")
        two = First(tmp_path, WAYPOST_BASE_URL="http://waypost.test")
        services = (one, two)
        try:
            for service in services:
                service.spawn()
            for service in services:
                service.client.headers["Host"] = "waypost.test"
                assert service.client.get("/readyz").status_code == 200
                service.log.wait_for("Waypost is ready")
            assert len(one.json("account", "list")) == 1
            file = tmp_path / "data" / "first-start.txt"
            key = re.findall(r"wp_live_\w+", file.read_text())[0]
            for service in services:
                service.client.headers["Authorization"] = f"Bearer {key}"

            link = {"slug": "hello", "destination_url": page.url}
            made = one.client.post("/api/v1/links", json=link).json()["data"]
            for service in (*services, *services):
                assert [service.client.get("/hello").status_code for _ in range(50)] == [302] * 50
            path = f"/api/v1/links/{made['id']}"
            assert two.client.patch(path, json={"destination_url": f"{page.url}/new"}).status_code == 200
            assert one.client.get("/hello").headers["location"] == f"{page.url}/new"

            assert one.stop() == 0
            assert [two.client.get("/hello").status_code for _ in range(50)] == [302] * 50
            eventually(lambda: two.client.get(path).json()["data"]["clicks"] == 251, every=2)
        finally:
            for service in services:
                service.stop()
                service.client.close()
        assert "Traceback" not in "".join([*one.log.lines, *two.log.lines])
