"""Images in memory are answered before the framework, with the same response, as long as they are current."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest
from journeys.service import Website
from people import Person, new_person

from waypost.kit.clock import now
from waypost.settings import Settings
from waypost.web_app import open_full_app


@dataclass
class Place:
    client: httpx.AsyncClient
    alice: Person
    website: Website
    passed_on: list[str] = field(default_factory=list)
    """Paths of requests for images that the framework got."""

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self.client.request(method, f"/api/v1/links{path}", headers=self.alice.headers, json=body)
        assert answer.is_success, answer.text
        return answer.json()["data"] if answer.content else None

    async def new_code(self, **fields: Any) -> dict[str, Any]:
        link = await self.ask("POST", "", {"destination_url": self.website.url, **fields})
        return await self.ask("GET", f"/{link['id']}/qrcode")

    async def get_twice(self, url: str) -> httpx.Response:
        """Return the response from memory."""
        first = await self.client.get(url)
        self.passed_on.clear()
        second = await self.client.get(url)
        assert not self.passed_on
        assert (first.status_code, second.headers, second.content) == (200, first.headers, first.content)
        return second


@contextlib.asynccontextmanager
async def open_place(database_url: str, data_dir: Path, base_url: str) -> AsyncIterator[Place]:
    data_dir.mkdir()
    settings = Settings(
        data_dir=data_dir,
        database_url=database_url,
        base_url=base_url,
        outbound_allow=[ip_network("127.0.0.0/8")],
        secret_key="a key",
    )
    with Website() as website:
        async with open_full_app(settings) as web:
            front: Any = web.app.app
            api = front.api.app
            transport = httpx.ASGITransport(web.app)
            async with httpx.AsyncClient(transport=transport, base_url=base_url) as client:
                place = Place(client, await new_person(web.db, "alice", now=now()), website)

                async def count(scope, receive, send) -> None:
                    if "/qrcodes/" in scope["path"]:
                        place.passed_on.append(scope["path"])
                    await api(scope, receive, send)

                front.api.app = count
                yield place


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[Place]:
    async with open_place(database_url, tmp_path / "data", "http://app.test") as place:
        yield place


async def test_answers_as_the_framework_does(place: Place) -> None:
    code = await place.new_code(slug="Spring_1")
    for name in ("image_url", "svg_url"):
        url = code[name]
        kinds = (
            ("HEAD", {}),
            *(("GET", {"If-None-Match": etag}) for etag in ("*", '"another"')),
            ("HEAD", {"If-None-Match": "*"}),
        )
        of_framework = [await place.client.request(method, url, headers=headers) for method, headers in kinds[:1]]
        await place.get_twice(url)
        place.passed_on.clear()
        known = [await place.client.request(method, url, headers=headers) for method, headers in kinds]
        assert not place.passed_on
        assert [(each.status_code, bool(each.content)) for each in known] == [
            (200, False),
            (304, False),
            (200, True),
            (304, False),
        ]
        assert (known[0].headers, known[0].content) == (of_framework[0].headers, b"")
        assert known[0].headers["content-length"] == str(len(known[2].content))
        assert set(known[1].headers) == {"etag", "cache-control", "x-content-type-options"}


async def test_a_known_image_ends_with_its_link(place: Place) -> None:
    code = await place.new_code()
    await place.get_twice(code["image_url"])
    await place.ask("DELETE", f"/{code['link_id']}")
    assert (await place.client.get(code["image_url"])).status_code == 404


async def test_a_known_image_follows_its_link(place: Place) -> None:
    code = await place.new_code(slug="before")
    before = await place.get_twice(code["image_url"])
    await place.ask("PATCH", f"/{code['link_id']}", {"slug": "after"})
    after = await place.get_twice(code["image_url"])
    assert after.headers["content-disposition"] == 'inline; filename="after.png"'
    assert after.headers["etag"] != before.headers["etag"]
    other = await place.ask("POST", "", {"destination_url": place.website.url, "slug": "before"})
    assert other["slug"] == "before"
    assert (await place.client.get(code["image_url"])).content == after.content


async def test_the_image_of_a_disabled_link_is_served(place: Place) -> None:
    """Its code may be printed before the link is enabled."""
    code = await place.new_code()
    await place.ask("PATCH", f"/{code['link_id']}", {"status": "inactive"})
    await place.get_twice(code["image_url"])


async def test_passes_on_what_it_does_not_know(place: Place) -> None:
    code, other = await place.new_code(), await place.new_code()
    url = code["image_url"]
    await place.get_twice(url)
    for wrong, status in (
        (f"{url}&x=1", 403),
        (url.replace("image/png", "image/%70ng"), 403),
        (url.replace(code["id"], other["id"]), 403),
        (url.replace("image/png", "image/gif"), 404),
    ):
        assert (await place.client.get(wrong)).status_code == status, wrong
    assert len(place.passed_on) == 4
    assert (await place.client.post(url)).status_code == 405


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_refuses_plain_http_for_known_images_too(database_url: str, tmp_path: Path) -> None:
    async with open_place(database_url, tmp_path / "data", "https://app.test") as place:
        code = await place.new_code()
        answer = await place.get_twice(code["image_url"])
        assert "max-age" in answer.headers["strict-transport-security"]
        assert (await place.client.get(code["image_url"].replace("https:", "http:"))).status_code == 400
