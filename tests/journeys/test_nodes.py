"""R41: two nodes with one PostgreSQL, each with its own data directory."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import PostgresServer
from journeys.service import Service, Website, eventually
from resources.links.test_images import image_bytes

KEY, OTHER_KEY = "the key of all nodes " * 2, "the key of another service " * 2
PERSON = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}


@pytest.fixture(scope="module")
def url(postgres: PostgresServer, postgres_template: str) -> Iterator[str]:
    name = f"nodes_{uuid.uuid4().hex}"
    postgres.sql(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
    yield postgres.url(name)
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def first(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    directory = tmp_path_factory.mktemp("first")
    with Service(directory, WAYPOST_DATABASE_URL=url, WAYPOST_SECRET_KEY=KEY) as service:
        yield service


@pytest.fixture(scope="module")
def site() -> Iterator[Website]:
    with Website() as site:
        yield site


@contextmanager
def further_node(first: Service, directory: Path, *options: str, **settings: str) -> Iterator[Service]:
    """A node that joins, with the account and the key of the first one."""
    directory.mkdir(exist_ok=True)
    service = Service(directory, options=options, WAYPOST_DATABASE_URL=first.environment["WAYPOST_DATABASE_URL"])
    service.environment |= settings
    service.client.headers["Authorization"] = f"Bearer {first.key}"
    service.start()
    try:
        yield service
    finally:
        service.stop()
        service.client.close()


def test_an_image_is_served_and_deleted_on_all_nodes(first: Service, site: Website, tmp_path: Path) -> None:
    with further_node(first, tmp_path, WAYPOST_SECRET_KEY=KEY) as second:
        fields = {"destination_url": (None, site.url), "og_image_file": ("a.png", image_bytes(), "image/png")}
        made = first.client.post("/api/v1/links", files=fields)
        assert made.status_code == 201, made.text
        link = made.json()["data"]
        path = link["og_image"].removeprefix(first.base_url)
        images = [node.client.get(path) for node in (first, second, second)]
        assert [image.status_code for image in images] == [200] * 3
        assert len({image.content for image in images}) == 1
        assert len({image.headers["etag"] for image in images}) == 1
        (cached,) = (tmp_path / "data" / "cache" / "images").glob("*.png")

        second.kill("web")
        cached.write_bytes(b"damaged")
        assert second.client.get(path).content == images[0].content

        assert first.client.delete(f"/api/v1/links/{link['id']}").status_code == 204
        assert [node.client.get(path).status_code for node in (first, second)] == [404, 404]


def test_a_redirect_node_without_the_key_fires_no_pixels(first: Service, site: Website, tmp_path: Path) -> None:
    pixel = first.client.post("/api/v1/pixels", json={"platform": "facebook", "name": "A", "pixel_id": "1" * 15}).json()
    new = {"destination_url": site.url, "slug": "fires", "pixel_ids": [pixel["data"]["id"]]}
    assert first.client.post("/api/v1/links", json=new).status_code == 201
    assert first.client.get("/fires", headers=PERSON).status_code == 200
    with further_node(first, tmp_path / "without", "--role", "redirect") as node:
        visits = [node.client.get("/fires", headers=PERSON) for _ in range(2)]
        assert [(visit.status_code, visit.headers["location"]) for visit in visits] == [(302, site.url)] * 2
        eventually(lambda: "waypost_routes_without_pixels_total 1.0" in node.client.get("/metrics").text)
        assert sum("pixels do not fire" in line for line in node.log.lines) == 1
        assert not (tmp_path / "without" / "data" / "secret.key").exists()
    with further_node(first, tmp_path / "with", "--role", "redirect", WAYPOST_SECRET_KEY=KEY) as node:
        assert node.client.get("/fires", headers=PERSON).status_code == 200


@pytest.mark.parametrize("role", ["all", "redirect"])
def test_a_node_with_another_key_does_not_start(first: Service, tmp_path: Path, role: str) -> None:
    node = Service(tmp_path, WAYPOST_DATABASE_URL=first.environment["WAYPOST_DATABASE_URL"])
    node.environment["WAYPOST_SECRET_KEY"] = OTHER_KEY
    with pytest.raises(AssertionError, match="is not the key that the secrets in the database are encrypted with"):
        node.command("serve", "--role", role)
