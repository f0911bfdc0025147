"""A data directory of commit d3574ac, the last one before the baseline migration, opens as it is."""

import subprocess
from pathlib import Path

from journeys.service import Service, eventually

DATA = Path(__file__).parents[1] / "database" / "baseline" / "data.tar.gz"
KEY = "wp_live_XYJtqNF3NL8whmjw2tzyU9Qf8Zrxuwno1fFecm"
"""Of the account in the archive; nobody else has it."""


class EarlierService(Service):
    def prepare(self) -> None:
        (self.directory / "data").mkdir()
        subprocess.run(["tar", "-xf", DATA, "-C", self.directory / "data"], check=True)
        self.client.headers["Authorization"] = f"Bearer {KEY}"


def test_opens_the_data_directory_of_the_version_before(tmp_path: Path) -> None:
    with EarlierService(tmp_path) as service:

        def clicks() -> dict[str, int]:
            links = service.client.get("/api/v1/links").json()["data"]
            return {link["slug"]: link["clicks"] for link in links}

        eventually(lambda: clicks() == {"summer": 12 + 5, "winter": 3}, every=1)  # five were still in the spool
        visit = service.client.get("/summer", headers={"User-Agent": "Firefox"})
        assert (visit.status_code, visit.headers["Location"]) == (302, "http://127.0.0.1:8932/")
        found = service.client.get("/api/v1/links", params={"search": "mer sal"}).json()["data"]
        assert [link["slug"] for link in found] == ["summer"]
        total = service.client.get("/api/v1/clicks", params={"kind": "all"}).json()["meta"]["total"]
        assert total >= 20
        [pixel] = service.client.get("/api/v1/pixels").json()["data"]  # decrypts its id
        assert pixel["name"] == "Shop"
        [hook] = service.client.get("/api/v1/webhooks").json()["data"]
        assert hook["url"] == "https://127.0.0.1:8932/hook"
        findings = {each["check"]: each["state"] for each in service.json("doctor")}
        assert (findings["schema"], findings["database"], findings["clicks"]) == ("ok", "ok", "ok")
