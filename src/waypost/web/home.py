"""Files that crawlers and browsers request from every host."""

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response


def routes() -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/robots.txt")
    async def robots() -> PlainTextResponse:
        return PlainTextResponse("User-agent: *\nDisallow: /api/\n")

    @router.get("/favicon.ico")
    async def favicon() -> Response:
        return Response(status_code=204, headers={"Cache-Control": "public, max-age=86400"})

    return router
