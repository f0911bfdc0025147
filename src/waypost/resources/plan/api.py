"""Receives webhook events from Stripe. Requests without a valid signature are refused before anything else."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.resources.plan import service
from waypost.resources.plan.deps import Deps
from waypost.web.body import read_body

PATH = "/api/stripe"
_MAX_BODY = 256 << 10
_MAX_HEADER = 4096


def route(deps: Deps) -> Route:
    async def receive_event(request: Request) -> Response:
        header = request.headers.get("stripe-signature", "")[:_MAX_HEADER]
        service.check_header(deps, header)  # first: the body of an unsigned request is not read
        await service.receive_event(deps, header, await read_body(request, _MAX_BODY))
        return Response()

    return Route(PATH, receive_event, methods=["POST"])
