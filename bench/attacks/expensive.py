"""Attacks with requests that cost the service more than the attacker: searches, images, QR codes."""

import asyncio
import io
import random
import time
import uuid
from typing import Any

from PIL import Image
from sqlalchemy import update

from bench.attacks.outgoing import website
from bench.attacks.scenario import Latencies, Scenario
from bench.client import Client
from bench.report import Row, measured
from bench.seed import add_links
from waypost.database import Database
from waypost.resources.links.model import links

_AT_ONCE = 10
_LONG_LINKS = 2_000
_UPLOADS = 12


async def searches(scenario: Scenario) -> list[Row]:
    """The longest possible search, over links with the longest texts, most of which almost match."""
    db = Database(scenario.database_url)
    await add_links(db, scenario.attacker.id, _LONG_LINKS, first=10_000)
    text = "https://example.com/" + "a" * 2_000
    async with db.write() as tx:
        long = {"destination_url": text, "title": "a" * 255, "search_text": f"{'a' * 255}\n{text}"}
        await tx.execute(update(links).where(links.c.account_id == scenario.attacker.id).values(**long))
    await db.close()
    latencies, statuses = list[Latencies](), list[int]()
    async with scenario.observed(latencies):
        await asyncio.gather(*(_search(scenario, key, statuses) for key in (scenario.attacker.keys * 2)[:_AT_ONCE]))
    name = f"{_AT_ONCE} x the worst search over {_LONG_LINKS:,} long links"
    return [
        *latencies[0].rows(name, scenario.before),
        Row(f"{name}: responses to the attacker", _counts(statuses)),
    ]


async def _search(scenario: Scenario, key: str, statuses: list[int]) -> None:
    client, ended = await Client.open(scenario.port), time.monotonic() + scenario.seconds
    worst = "/api/v1/links?search=" + "a" * 253 + "b"
    while time.monotonic() < ended:
        statuses.append((await client.request("GET", worst, key=key)).status)
        if statuses[-1] == 429:
            break
    await client.close()


async def images(scenario: Scenario) -> list[Row]:
    """Small files with large images that grow when they are re-encoded."""
    inflating, ordinary = _inflating(), _ordinary()
    latencies, took, sizes, statuses = list[Latencies](), list[float](), list[float](), list[int]()

    async def attack(url: str, key: str) -> None:
        status, response = await _upload(scenario.port, key, url, inflating)
        statuses.append(status)
        if status == 201:
            sizes.append(await _size_of(scenario.port, response["data"]["og_image"]) / 1e6)

    async def neighbour(url: str) -> None:
        await asyncio.sleep(0.3)
        began = time.perf_counter()
        status, _ = await _upload(scenario.port, scenario.neighbour.keys[-1], url, ordinary)
        took.append(time.perf_counter() - began if status == 201 else 60.0)

    async with website() as url, scenario.observed(latencies):
        await asyncio.gather(
            *(attack(f"{url}/{n}", scenario.attacker.keys[n % len(scenario.attacker.keys)]) for n in range(_UPLOADS)),
            neighbour(f"{url}/neighbour"),
        )
    name = f"{_UPLOADS} uploads of a {len(inflating) // 1000} KB image that inflates"
    return [
        *latencies[0].rows(name, scenario.before),
        measured(f"{name}: another account's upload", took[0], unit=" s"),
        measured(f"{name}: largest stored image", max(sizes, default=0), _counts(statuses), " MB"),
    ]


async def codes(scenario: Scenario) -> list[Row]:
    """QR codes of the largest size, each in a style that is not cached."""
    client = await Client.open(scenario.port)
    link = (await client.request("GET", "/api/v1/links", key=scenario.attacker.keys[0])).data
    if not link:
        db = Database(scenario.database_url)
        await add_links(db, scenario.attacker.id, 1, first=900_000)
        await db.close()
        link = (await client.request("GET", "/api/v1/links", key=scenario.attacker.keys[0])).data
    path = f"/api/v1/links/{link[0]['id']}/qrcode"
    urls = []
    for number, key in enumerate(scenario.attacker.keys[:10] * 4):
        style = {"size": 2048, "style": "fluid", "level": "H", "foreground": f"#{number:06x}"}
        response = await client.request("POST", path, key=key, body=style)
        urls.append(response.data["image_url"].removeprefix(scenario.url))
    latencies, statuses = list[Latencies](), list[int]()

    async def draw(url: str) -> None:
        each = await Client.open(scenario.port)
        statuses.append((await each.request("GET", url, key="")).status)
        await each.close()

    async with scenario.observed(latencies):
        await asyncio.gather(*map(draw, urls))
        await asyncio.sleep(0.5)
    await client.close()
    name = f"{len(urls)} QR codes of 2048 px at once"
    return [
        *latencies[0].rows(name, scenario.before),
        Row(f"{name}: responses to the attacker", _counts(statuses)),
    ]


def _counts(statuses: list[int]) -> str:
    return ", ".join(f"{statuses.count(status)} x {status}" for status in sorted(set(statuses)))


def _inflating() -> bytes:
    """A repeated tile of noise: a lossless format stores it once, a lossy one stores every copy."""
    rng = random.Random(1)  # the same each time
    tile = Image.frombytes("RGB", (64, 64), rng.randbytes(64 * 64 * 3))
    image = Image.new("RGB", (4992, 4992))
    for x in range(0, 4992, 64):
        for y in range(0, 4992, 64):
            image.paste(tile, (x, y))
    return _written(image, "WEBP", lossless=True, method=0)


def _ordinary() -> bytes:
    return _written(Image.linear_gradient("L").resize((1200, 630)), "PNG")


def _written(image: Image.Image, format: str, **options: object) -> bytes:  # noqa: A002  # Pillow's name
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


async def _upload(port: int, key: str, destination: str, image: bytes) -> tuple[int, dict[str, Any]]:
    edge = uuid.uuid4().hex
    part = f'--{edge}\r\nContent-Disposition: form-data; name="'
    body = (
        (
            f'{part}destination_url"\r\n\r\n{destination}\r\n{part}og_image_file"; filename="a.webp"\r\n'
            "Content-Type: image/webp\r\n\r\n"
        ).encode()
        + image
        + f"\r\n--{edge}--\r\n".encode()
    )
    client = await Client.open(port)
    kind = f"multipart/form-data; boundary={edge}"
    response = await client.request("POST", "/api/v1/links", key=key, content=body, content_type=kind)
    await client.close()
    return response.status, response.json


async def _size_of(port: int, url: str) -> int:
    client = await Client.open(port)
    response = await client.request("GET", "/" + url.split("/", 3)[3], key="")
    await client.close()
    return len(response.body)


ATTACKS = {"searches": searches, "images": images, "codes": codes}
