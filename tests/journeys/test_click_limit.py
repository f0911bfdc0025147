"""A link with a click limit, visited by many at once through several processes, with restarts."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from journeys.service import Service, Website, eventually


def test_exactly_as_many_visitors_as_the_limit_are_redirected(database_url: str, tmp_path: Path) -> None:
    options = ("--workers", "3")
    with Website() as page, Service(tmp_path, options=options, WAYPOST_DATABASE_URL=database_url) as service:
        link = {"slug": "sale", "destination_url": page.url}
        made = service.client.post("/api/v1/links", json=link).json()["data"]
        path = f"/api/v1/links/{made['id']}"

        def visit(count: int) -> int:
            with httpx.Client(base_url=service.base_url, trust_env=False, timeout=60) as client:
                answers = [client.get("/sale").status_code for _ in range(count)]
            assert set(answers) <= {302, 404}
            return answers.count(302)

        def visit_all() -> int:
            with ThreadPoolExecutor(6) as visitors:
                return sum(visitors.map(visit, [15] * 6))

        assert visit(10) == 10
        for limit, added in ((50, 40), (80, 30)):
            assert service.client.put(f"{path}/routing", json={"click_limit": limit}).status_code == 200
            assert visit_all() == added
        assert service.client.put(f"{path}/routing", json={"click_limit": 100}).status_code == 200
        assert visit(5) == 5
        service.kill("parent")
        service.ended()
        service.start()
        assert visit_all() == 15
        eventually(lambda: service.client.get(path).json()["data"]["clicks"] == 100, every=2)
        assert service.client.get(path).json()["data"]["status"] == "inactive"
