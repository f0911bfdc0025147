"""Where Stripe's events arrive. Whoever else sends something learns nothing but that it is not signed."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from waypost.resources.plan import service
from waypost.resources.plan.deps import Deps
from waypost.web.body import read_body

PATH = "/api/stripe"
_LIMIT = 256 << 10
_HEADER_LIMIT = 4096


def routes(deps: Deps) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.post(PATH)
    async def hear(request: Request) -> Response:
        header = request.headers.get("stripe-signature", "")[:_HEADER_LIMIT]
        service.expect_event(deps, header)  # first: whoever cannot sign is not read
        await service.hear(deps, header, await read_body(request, _LIMIT))
        return Response()

    return router
