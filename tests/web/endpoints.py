"""A small API with one endpoint of each kind."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import ConfigDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from waypost.accounts import Caller
from waypost.kit.deprecation import Deprecation
from waypost.kit.docs import doc, doc_as, field
from waypost.kit.errors import NotFound, Problems
from waypost.kit.fields import Body, Text
from waypost.web import PAGING, Data, Endpoint, data, parameter

THING = "/api/v1/things/01a1fbb0-9c64-766d-a0c1-63dfc9473774"


OLD = Deprecation(date(2027, 3, 1), "Use `/things`.", date(2028, 3, 1))
OLD_PARAMETER = Deprecation(date(2027, 2, 1), "Use `after`.")
OLD_FIELD = Deprecation(date(2027, 4, 1), "Use `color`.", date(2028, 2, 1))


class Fields(Body):
    """Whatever is sent."""

    model_config = ConfigDict(extra="allow")


class NewPart(Body):
    colour: Text | None = field("Its color", "red", deprecated=OLD_FIELD)


class NewThing(Body):
    name: Text | None = field("Its name", "A")
    colour: Text | None = field("Its color", "red", deprecated=OLD_FIELD)
    parts: list[dict[str, Any]] | None = field("Its parts")
    EXAMPLE: ClassVar[Mapping[str, Any]] = {"name": "A"}
    NESTED: ClassVar[Mapping[str, type[Body]]] = {"parts": NewPart}


class ThingJson(TypedDict):
    name: Annotated[str, doc("Its name", "A")]
    colour: Annotated[str, doc_as(NewThing, "colour")]
    color: Annotated[str, doc("Its color", "red", deprecated=OLD_FIELD)]


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


async def old(_: None, caller: Caller, request: Request) -> Response:
    if "wrong" in request.query_params:
        raise NotFound
    return data("old")


async def deprecating(_: None, caller: Caller, fields: NewThing, problems: Problems) -> Response:
    problems.raise_if_any()
    return data({"name": fields.name, "colour": fields.colour})


_BEFORE = parameter("before", {"type": "string"}, "Those before", "b", deprecated=OLD_PARAMETER)
DEPRECATED = [
    Endpoint("GET", "/links/old", old, "Find old things", "links:read", parameters=[*PAGING], deprecated=OLD),
    Endpoint("GET", "/links/partly", old, "Find some", "links:read", name="links_find", parameters=[*PAGING, _BEFORE]),
    Endpoint(
        "POST", "/links/partly", deprecating, "Create one", "links:write", Data[ThingJson], status=201, body=NewThing
    ),
]
THINGS = (
    None,
    [
        Endpoint("GET", "/things/{id}", find, "Find", "links:read"),
        Endpoint("PATCH", "/things/{id}", change, "Change", "links:write", body=Fields),
        Endpoint("POST", "/things", create, "Create", "links:write", status=201, body=Fields),
        Endpoint("GET", "/broken", broken, "Break", "links:read"),
        Endpoint("GET", "/leaky", leaky, "Leak", "links:read", parameters=[*PAGING]),
        Endpoint("GET", "/teapot", teapot, "Brew", "links:read"),
        *DEPRECATED,
    ],
)
