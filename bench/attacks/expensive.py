"""Attacks on work that costs more than asking for it: searches, images, QR codes, exports."""

import asyncio
import io
import random
import time
import uuid

from PIL import Image
from sqlalchemy import update

from bench.attacks.outgoing import website
from bench.attacks.stage import Felt, Stage
from bench.client import Client
from bench.report import Row, at_most, told
from bench.seed import add_links
from waypost.database import Database
from waypost.resources.links.model import links

_AT_ONCE = 10
_LONG_LINKS = 2_000
_LIST_WITHIN = 200.0  # milliseconds
_UPLOADS = 12
_UPLOAD_WITHIN = 2.0  # seconds
_STORED = 2.0  # MB


async def searches(stage: Stage) -> list[Row]:
    """The longest search there is, among links of the longest texts, nearly all of which it nearly matches."""
    db = Database(stage.database_url)
    await add_links(db, stage.attacker.id, _LONG_LINKS, first=10_000)
    text = "https://example.com/" + "a" * 2_000
    async with db.write() as tx:
        long = {"destination_url": text, "title": "a" * 255, "search_text": f"{'a' * 255}\n{text}"}
        await tx.execute(update(links).where(links.c.account_id == stage.attacker.id).values(**long))
    await db.close()
    felt, statuses = list[Felt](), list[int]()
    async with stage.observed(felt):
        await asyncio.gather(*(_search(stage, key, statuses) for key in (stage.attacker.keys * 2)[:_AT_ONCE]))
    name = f"{_AT_ONCE} x the worst search over {_LONG_LINKS:,} long links"
    *rows, calls = felt[0].rows(name, stage.before)
    return [
        *rows,
        at_most(f"{name}: another account's list, p99", felt[0].api_p99, _LIST_WITHIN, calls.detail, " ms"),
        told(f"{name}: what the attacker got", _counts(statuses)),
    ]


async def _search(stage: Stage, key: str, statuses: list[int]) -> None:
    client, ended = await Client.open(stage.port), time.monotonic() + stage.seconds
    worst = "/api/v1/links?search=" + "a" * 253 + "b"
    while time.monotonic() < ended:
        statuses.append((await client.request("GET", worst, key=key)).status)
        if statuses[-1] == 429:
            break
    await client.close()


async def images(stage: Stage) -> list[Row]:
    """Small files that hold large images, and grow when they are re-encoded."""
    inflating, ordinary = _inflating(), _ordinary()
    felt, took, stored, statuses = list[Felt](), list[float](), list[float](), list[int]()

    async def attack(url: str, key: str) -> None:
        status, answer = await _upload(stage.port, key, url, inflating)
        statuses.append(status)
        if status == 201:
            stored.append(await _size_of(stage.port, answer["data"]["og_image"]) / 1e6)

    async def neighbour(url: str) -> None:
        await asyncio.sleep(0.3)
        began = time.perf_counter()
        status, _ = await _upload(stage.port, stage.neighbour.keys[-1], url, ordinary)
        took.append(time.perf_counter() - began if status == 201 else 60.0)

    async with website() as url, stage.observed(felt):
        await asyncio.gather(
            *(attack(f"{url}/{n}", stage.attacker.keys[n % len(stage.attacker.keys)]) for n in range(_UPLOADS)),
            neighbour(f"{url}/neighbour"),
        )
    name = f"{_UPLOADS} uploads of a {len(inflating) // 1000} KB image that inflates"
    return [
        *felt[0].rows(name, stage.before),
        at_most(f"{name}: another account's upload", took[0], _UPLOAD_WITHIN, unit=" s"),
        at_most(f"{name}: the largest that was stored", max(stored, default=0), _STORED, _counts(statuses), " MB"),
    ]


async def codes(stage: Stage) -> list[Row]:
    """QR codes of the largest size, each in a look that was never drawn before."""
    client = await Client.open(stage.port)
    link = (await client.request("GET", "/api/v1/links", key=stage.attacker.keys[0])).data
    if not link:
        db = Database(stage.database_url)
        await add_links(db, stage.attacker.id, 1, first=900_000)
        await db.close()
        link = (await client.request("GET", "/api/v1/links", key=stage.attacker.keys[0])).data
    path = f"/api/v1/links/{link[0]['id']}/qrcode"
    urls = []
    for number, key in enumerate(stage.attacker.keys[:10] * 4):
        look = {"size": 2048, "style": "fluid", "level": "H", "foreground": f"#{number:06x}"}
        answer = await client.request("POST", path, key=key, body=look)
        urls.append(answer.data["image_url"].removeprefix(stage.url))
    felt, statuses = list[Felt](), list[int]()

    async def draw(url: str) -> None:
        each = await Client.open(stage.port)
        statuses.append((await each.request("GET", url, key="")).status)
        await each.close()

    async with stage.observed(felt):
        await asyncio.gather(*map(draw, urls))
        await asyncio.sleep(0.5)
    await client.close()
    name = f"{len(urls)} QR codes of 2048 px at once"
    return [*felt[0].rows(name, stage.before), told(f"{name}: what the attacker got", _counts(statuses))]


def _counts(statuses: list[int]) -> str:
    return ", ".join(f"{statuses.count(status)} x {status}" for status in sorted(set(statuses)))


def _inflating() -> bytes:
    """A tile of noise, again and again: a lossless format keeps it once, another one must keep it all."""
    chance = random.Random(1)  # the same each time
    tile = Image.frombytes("RGB", (64, 64), chance.randbytes(64 * 64 * 3))
    image = Image.new("RGB", (4992, 4992))
    for x in range(0, 4992, 64):
        for y in range(0, 4992, 64):
            image.paste(tile, (x, y))
    return _written(image, "WEBP", lossless=True, method=0)


def _ordinary() -> bytes:
    return _written(Image.linear_gradient("L").resize((1200, 630)), "PNG")


def _written(image: Image.Image, format: str, **options: object) -> bytes:  # noqa: A002  # Pillow's name
    out = io.BytesIO()
    image.save(out, format, **options)  # type: ignore[arg-type]
    return out.getvalue()


async def _upload(port: int, key: str, destination: str, image: bytes) -> tuple[int, dict]:
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
    answer = await client.request("POST", "/api/v1/links", key=key, content=body, content_type=kind)
    await client.close()
    return answer.status, answer.json


async def _size_of(port: int, url: str) -> int:
    client = await Client.open(port)
    answer = await client.request("GET", "/" + url.split("/", 3)[3], key="")
    await client.close()
    return len(answer.body)


ATTACKS = {"searches": searches, "images": images, "codes": codes}
