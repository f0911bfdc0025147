"""Where Stripe's events arrive. Whoever else sends something learns nothing but that it is not signed."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from waypost.resources.plan import service
from waypost.resources.plan.doors import Doors
from waypost.web.body import read_body

PATH = "/api/stripe"
_LIMIT = 1 << 20


def routes(doors: Doors) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.post(PATH)
    async def hear(request: Request) -> Response:
        body = await read_body(request, _LIMIT)
        await service.hear(doors, request.headers.get("stripe-signature", "")[:4096], body)
        return Response()

    return router
