"""A link's code: drawn as its owner wants it, scanned, counted, and still looked at when keys are replaced."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import zxingcpp
from journeys.service import Service, Website, eventually
from PIL import Image

OLD_KEY = "old" * 12
PERSON = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Mobile/15E148 Safari/604.1"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """On SQLite: tests/resources/qrcodes count scans on both databases."""
    with Service(tmp_path, options=("--workers", "2"), WAYPOST_SECRET_KEY=OLD_KEY) as running:
        yield running


def fetch(url: str, **headers: str) -> httpx.Response:
    """Over a connection of its own, without a key."""
    return httpx.get(url, headers={"User-Agent": PERSON} | headers, trust_env=False, timeout=60)


def read(picture: httpx.Response) -> str:
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png"), picture.text
    [found] = zxingcpp.read_barcodes(Image.open(io.BytesIO(picture.content)))
    return found.text


def test_code_is_drawn_scanned_and_counted(service: Service) -> None:
    with Website() as page:
        link = service.client.post("/api/v1/links", json={"destination_url": page.url, "slug": "poster"}).json()["data"]
    path = f"/api/v1/links/{link['id']}"

    def shown(of: str, *names: str) -> tuple[Any, ...]:
        found = service.client.get(f"{path}{of}").json()["data"]
        return tuple(found[name] for name in names)

    look = {"foreground": "#1d3557", "style": "fluid", "level": "Q"}
    code = service.client.post(f"{path}/qrcode", json=look).json()["data"]
    answers = [fetch(code["image_url"]) for _ in range(8)]  # of both processes
    assert len({(answer.content, answer.headers["etag"]) for answer in answers}) == 1
    target = read(answers[0])
    assert target == f"{service.base_url}/poster?r=qr"
    assert fetch(code["image_url"], **{"If-None-Match": answers[0].headers["etag"]}).status_code == 304
    for wrong in (f"{code['image_url']}&utm_source=x", code["image_url"].replace("?v=", "?%76=")):
        assert fetch(wrong).status_code == 403
    assert fetch(code["svg_url"]).headers["content-type"] == "image/svg+xml"

    assert fetch(target).headers["location"] == link["destination_url"]
    assert fetch(target.partition("?")[0]).status_code == 302
    eventually(lambda: shown("", "clicks") == (2,), every=1)
    assert shown("/qrcode", "scans") == (1,)
    assert shown("/stats", "clicks", "scans") == (2, 1)
    kinds = {click["is_scan"] for click in service.client.get(f"{path}/clicks").json()["data"]}
    assert kinds == {True, False}

    service.stop()
    service.environment["WAYPOST_SECRET_KEY"] = f"{'new' * 12},{OLD_KEY}"
    service.start()
    assert read(fetch(code["image_url"])) == target
    assert shown("/qrcode", "image_url") != (code["image_url"],)

    assert service.client.delete(path).status_code == 204
    assert fetch(code["image_url"]).status_code == service.client.get(f"{path}/qrcode").status_code == 404
    gone = fetch(target)
    assert (gone.status_code, "<h1>Link not found" in gone.text) == (404, True)
    assert json.loads(fetch(code["svg_url"]).content)["error"]["code"] == "not_found"
