"""A small API with one endpoint of each kind."""

from uuid import UUID

from pydantic import ConfigDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.kit.fields import Body
from waypost.web import PAGING, Endpoint, data

THING = "/api/v1/things/01a1fbb0-9c64-766d-a0c1-63dfc9473774"


class Fields(Body):
    """Whatever is sent."""

    model_config = ConfigDict(extra="allow")


async def find(_: None, caller: Caller, thing: UUID) -> Response:
    return data(str(thing))


async def change(_: None, caller: Caller, thing: UUID, fields: Fields, problems: Problems) -> Response:
    return data(fields.model_extra)


async def create(_: None, caller: Caller, fields: Fields, problems: Problems) -> Response:
    return data(fields.model_extra)


async def broken(_: None, caller: Caller) -> Response:
    raise ZeroDivisionError(f"while {caller.account.email} asked")


async def leaky(_: None, caller: Caller, request: Request) -> Response:
    header = request.headers["authorization"]
    raise ValueError(f"the statement\n[parameters: {{'password': 'hunter2'}}]\n{header} {header[7:]}")


async def teapot(_: None, caller: Caller) -> Response:
    raise HTTPException(418, "Short and stout.")


THINGS = (
    None,
    [
        Endpoint("GET", "/things/{id}", find, "Find", "links:read"),
        Endpoint("PATCH", "/things/{id}", change, "Change", "links:write", body=Fields),
        Endpoint("POST", "/things", create, "Create", "links:write", status=201, body=Fields),
        Endpoint("GET", "/broken", broken, "Break", "links:read"),
        Endpoint("GET", "/leaky", leaky, "Leak", "links:read", parameters=PAGING),
        Endpoint("GET", "/teapot", teapot, "Brew", "links:read"),
    ],
)
