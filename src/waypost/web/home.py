"""The page at `/`, until there is a dashboard: says what answers here and where to go on."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse, PlainTextResponse, Response

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Waypost</title>
<style>
  :root { color-scheme: light dark }
  body { font: 1.05rem/1.6 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-content: center;
         padding: 0 1.5rem; background: Canvas; color: CanvasText }
  h1 { font-size: 1.6rem; margin: 0 }
  p { margin: .4rem 0 0; max-width: 34rem }
</style>
<h1>Waypost is running</h1>
<p>Short links are answered here; they are made through the API under <code>/api/v1</code>,
described in <a href="/api/openapi.json">openapi.json</a>.</p>
</html>
"""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


def routes() -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def home() -> HTMLResponse:
        return HTMLResponse(_PAGE, headers=_HEADERS)

    @router.get("/robots.txt")
    async def robots() -> PlainTextResponse:
        return PlainTextResponse("User-agent: *\nDisallow: /api/\n")

    @router.get("/favicon.ico")
    async def favicon() -> Response:
        return Response(status_code=204, headers={"Cache-Control": "public, max-age=86400"})

    return router
