"""The web app manifest, with which browsers install the dashboard and offer it to share pages with.

There is no service worker: browsers need none for that, and pages are never shown from a cache.
"""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost.web.dashboard.assets import Assets

PATH = "/manifest.json"
_HEADERS = {"Cache-Control": "public, max-age=3600"}


def endpoint(assets: Assets) -> Route:
    content = {
        "id": "/",
        "name": "Waypost",
        "description": "Branded short links",
        "lang": "en",
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "theme_color": assets.brand_color,
        "background_color": "#f8f7f4",
        "icons": [
            _icon(assets, "app-icon-192.png", 192),
            _icon(assets, "app-icon-512.png", 512),
            {**_icon(assets, "app-icon-maskable.png", 512), "purpose": "maskable"},
        ],
        "shortcuts": [{"name": "Create link", "url": "/links/new"}, {"name": "Links", "url": "/links"}],
        "share_target": {
            "action": "/links/new",
            "method": "GET",
            "enctype": "application/x-www-form-urlencoded",
            "params": {"title": "title", "text": "text", "url": "url"},
        },
    }

    async def show(_request: Request) -> Response:
        return JSONResponse(content, headers=_HEADERS, media_type="application/manifest+json")

    return Route(PATH, show, methods=["GET"])


def _icon(assets: Assets, name: str, size: int) -> dict[str, str]:
    return {"src": assets.url(name), "sizes": f"{size}x{size}", "type": "image/png"}
