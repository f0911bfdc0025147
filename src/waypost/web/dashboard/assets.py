"""Static files of pages, our own and vendored. Their URLs change with their content, so browsers cache them forever.

Compressed on first use (the API reference's script has 3.5 MB), then served from memory.
"""

import asyncio
import gzip
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import NotFound
from waypost.web.dashboard import brand

PATH = "/assets"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Vary": "Accept-Encoding",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    file: Traversable
    media_type: str
    brand_color: str

    def read(self) -> bytes:
        """Return the content, with the brand's color."""
        content = self.file.read_bytes()
        if self.file.name == "app.css":
            return content + brand.rules(self.brand_color).encode()
        return (
            content.replace(brand.DEFAULT.encode(), self.brand_color.encode())
            if self.file.name == "icon.svg"
            else content
        )


class Assets:
    def __init__(
        self, root: Traversable | None = None, *, brand_color: str = brand.DEFAULT, logo: Path | None = None
    ) -> None:
        self.brand_color = brand_color
        self._assets: dict[str, StaticFile] = {}
        self._urls: dict[str, str] = {}
        self._compressed: dict[str, bytes] = {}
        self._add(root or files("waypost.web.dashboard") / "static", PurePosixPath())
        if logo:
            self._add_file(logo, PurePosixPath(f"logo{logo.suffix}"))
        self.logo_url = self._urls[f"logo{logo.suffix}" if logo else "icon.svg"]

    def url(self, name: str) -> str:
        """Return the URL of a file, such as `vendor/htmx.min.js`. Raises KeyError for an unknown one."""
        return self._urls[name]

    def endpoint(self) -> Route:
        return Route(f"{PATH}/{{name:path}}", self._show, methods=["GET"])

    async def _show(self, request: Request) -> Response:
        name = request.path_params["name"]
        asset = self._assets.get(name)
        if asset is None:
            raise NotFound
        if "gzip" not in request.headers.get("accept-encoding", ""):
            content = await asyncio.to_thread(asset.read)
            return Response(content, media_type=asset.media_type, headers=_HEADERS)
        if name not in self._compressed:
            self._compressed[name] = await asyncio.to_thread(_compress, asset)
        headers = {**_HEADERS, "Content-Encoding": "gzip"}
        return Response(self._compressed[name], media_type=asset.media_type, headers=headers)

    def _add(self, directory: Traversable, prefix: PurePosixPath) -> None:
        for entry in directory.iterdir():
            name = prefix / entry.name
            if entry.is_dir():
                self._add(entry, name)
            elif name.suffix in _TYPES:
                self._add_file(entry, name)

    def _add_file(self, entry: Traversable, name: PurePosixPath) -> None:
        file = StaticFile(entry, _TYPES[name.suffix], self.brand_color)
        digest = sha256(file.read()).hexdigest()[:10]
        hashed = name.with_name(f"{name.stem}.{digest}{name.suffix}")
        self._assets[str(hashed)] = file
        self._urls[str(name)] = f"{PATH}/{hashed}"


def _compress(file: StaticFile) -> bytes:
    return gzip.compress(file.read(), 9, mtime=0)
