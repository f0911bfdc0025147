"""Links are imported from Dub while the service runs, and their visitors follow the rules that they had there."""

from pathlib import Path

import httpx
from forked import run
from journeys.service import OWNER, Service, Website, eventually
from resources.imports.servers.dub import Dub, dub_link
from resources.imports.servers.scripted import TOKEN

IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.0 Mobile/15E148 Safari/604.1"
)
PC = {"User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:130.0) Gecko/20100101 Firefox/130.0"}


def test_visitors_follow_imported_rules_and_need_imported_passwords(tmp_path: Path) -> None:
    with Website() as page, Service(tmp_path) as service:
        dub = Dub(
            dub_link(1, key="phone", url=page.url, ios=f"{page.url}/ios", clicks=3),
            dub_link(2, key="vault", url=page.url, password="open sesame"),
        )
        (tmp_path / "token").write_text(TOKEN)
        with dub.running() as url:
            arguments = ("import", "dub", "--account", OWNER, "--url", url, "--token-file", "token")
            done = run(arguments, cwd=tmp_path, env=service.environment)
        assert done.returncode == 0, done.stderr
        with httpx.Client(base_url=service.base_url, headers=PC, trust_env=False, timeout=60) as visitor:
            answer = visitor.get("/phone", headers={"User-Agent": IPHONE})
            assert (answer.status_code, answer.headers["location"]) == (302, f"{page.url}/ios")
            assert visitor.get("/phone").headers["location"] == page.url
            assert visitor.get("/vault").status_code == 200
            sent = visitor.post("/vault", data={"password": "open sesame"})
            assert (sent.status_code, sent.headers["location"]) == (303, page.url)
        link = service.client.get("/api/v1/links", params={"search": "phone"}).json()["data"][0]
        stats = f"/api/v1/links/{link['id']}/stats"
        eventually(lambda: len(service.client.get(stats).json()["data"]["targets"]) == 2)
        data = service.client.get(stats).json()["data"]
        assert sorted(target["value"] for target in data["targets"]) == ["default", "iOS"]
        assert data["imported_clicks"] == 3
