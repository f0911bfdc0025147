"""Asking for codes and their images, with links as they are made beside them."""

import contextlib
import io
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
from contexts import new_context
from people import BASE_URL, FakeClock, Person, new_client
from PIL import Image
from resources.links.env import SHARED
from resources.links.env import Env as Links
from resources.links.env import open_env as open_links

from waypost.database import Database
from waypost.resources.qrcodes import api, file_api, image_cache
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.image_cache import CodeImage, draw_image
from waypost.resources.qrcodes.image_urls import Urls
from waypost.resources.qrcodes.logos import api as logo_api

DEFAULT = {
    "foreground": "#000000",
    "background": "#ffffff",
    "level": "M",
    "style": "squares",
    "size": 512,
    "margin": 4,
    "width_mm": 40,
    "logo": False,
    "logo_size": 0.22,
    "frame": "none",
    "frame_text": "SCAN ME",
}
KEY = b"a key to sign with"


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


@dataclass
class Env:
    links: Links
    deps: Deps
    client: httpx.AsyncClient
    drawn: list[CodeImage]
    """In the order of their drawing."""

    @property
    def clock(self) -> FakeClock:
        return self.links.clock

    @property
    def bob(self) -> Person:
        return self.links.bob

    async def ask(self, method: str, link: dict[str, Any], who: Person | None = None, **rest: Any) -> httpx.Response:
        headers = (who or self.links.alice).headers | rest.pop("headers", {})
        return await self.client.request(method, f"/api/v1/links/{link['id']}/qrcode", headers=headers, **rest)

    async def find(self, link: dict[str, Any]) -> dict[str, Any]:
        answer = await self.ask("GET", link)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def set(self, link: dict[str, Any], **fields: Any) -> dict[str, Any]:
        answer = await self.ask("POST", link, json=fields)
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]

    async def logo(self, method: str, who: Person | None = None, domain: object = None, **rest: Any) -> httpx.Response:
        path = f"domains/{domain}/logo" if domain else "qrcodes/logo"
        headers = (who or self.links.alice).headers
        return await self.client.request(method, f"/api/v1/{path}", headers=headers, **rest)

    async def upload(self, image: Image.Image, domain: object = None) -> Any:
        answer = await self.logo("PUT", domain=domain, files={"file": ("a.svg", encoded(image))})
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def image(self, url: str, method: str = "GET", **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.request(method, url, headers=named)


@contextlib.asynccontextmanager
async def open_env(db: Database, directory: Path) -> AsyncIterator[Env]:
    drawn_images: list[CodeImage] = []

    def draw(image: CodeImage, logo: bytes | None) -> bytes:
        drawn_images.append(image)
        return draw_image(image, logo)

    async with contextlib.AsyncExitStack() as stack, open_links(db, directory) as links:
        deps = Deps(**vars(new_context(db, links.clock, shared_domain=SHARED)), urls=Urls(BASE_URL, [KEY]))

        stack.enter_context(mock.patch.object(image_cache, "draw_image", draw))
        group = deps, [*api.ENDPOINTS, *file_api.ENDPOINTS, *logo_api.ENDPOINTS]
        async with new_client(db, directory, group, routes=[logo_api.route(deps)], clock=links.clock) as client:
            yield Env(links, deps, client, drawn_images)
        deps.image_cache.close()
        deps.image_reencoder.close()
