"""A change of a pixel takes effect on the next click, whichever process answers it."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
from journeys.service import Service, Website

VISITS = 24  # each by a connection of its own, so that either process gets some


def visited(service: Service, slug: str) -> list[str]:
    browser = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}
    with httpx.Client(
        base_url=service.base_url, headers=browser | {"Connection": "close"}, trust_env=False, timeout=60
    ) as client:
        answers = [client.get(f"/{slug}") for _ in range(VISITS)]
    return [f"{answer.status_code} {answer.text}" for answer in answers]


def ask(service: Service, method: str, path: str, **fields: Any) -> Any:
    answer = service.client.request(method, f"/api/v1{path}", json=fields or None)
    assert answer.is_success, answer.text
    return answer.json()["data"] if answer.content else None


def attach_to_others(database: Path, pixel: str, count: int) -> None:
    """To links that nobody made: a request for each would be more than a key may ask."""
    rows = [(uuid4().bytes, 0, UUID(pixel).bytes) for _ in range(count)]
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.executemany("INSERT INTO link_pixels (link_id, position, pixel_id) VALUES (?, ?, ?)", rows)
        connection.commit()


def test_a_change_takes_effect_on_the_next_click(tmp_path: Path) -> None:
    with Website() as site, Service(tmp_path, options=("--workers", "2")) as service:
        assert len(service.children("web")) == 2
        for slug, others in (("a", 0), ("b", 250)):
            new = {"platform": "facebook", "name": "x", "pixel_id": "1111111111"}
            pixel = ask(service, "POST", "/pixels", **new)["id"]
            ask(service, "POST", "/links", destination_url=site.url, slug=slug, pixel_ids=[pixel])
            attach_to_others(tmp_path / "data" / "waypost.db", pixel, others)
            assert all("1111111111" in each and each.startswith("200 ") for each in visited(service, slug))
            ask(service, "PATCH", f"/pixels/{pixel}", pixel_id="2222222222")
            seen = visited(service, slug)
            assert all("2222222222" in each and "1111111111" not in each for each in seen)
            ask(service, "DELETE", f"/pixels/{pixel}")
            assert {each.partition(" ")[0] for each in visited(service, slug)} == {"302"}
