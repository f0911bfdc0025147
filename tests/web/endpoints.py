"""A small API with one endpoint of each kind."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import Caller
from waypost.web import PREFIX, Guard, data, read_fields
from waypost.web.guard import path_id

THING = "/api/v1/things/01a1fbb0-9c64-766d-a0c1-63dfc9473774"


def thing_endpoints(guard: Guard) -> APIRouter:
    router = APIRouter(prefix=PREFIX)
    Reader = Annotated[Caller, Depends(guard.allow("links:read"))]
    Writer = Annotated[Caller, Depends(guard.allow("links:write"))]
    Fields = Annotated[dict[str, Any], Depends(read_fields)]

    @router.get("/things/{id}")
    async def find(caller: Reader, thing: Annotated[UUID, Depends(path_id)]) -> Response:
        return data(str(thing))

    @router.patch("/things/{id}")
    async def change(caller: Writer, fields: Fields, thing: Annotated[UUID, Depends(path_id)]) -> Response:
        return data(fields)

    @router.post("/things")
    async def create(caller: Writer, fields: Fields) -> Response:
        return data(fields, 201)

    @router.get("/broken")
    async def broken(caller: Reader) -> Response:
        raise ZeroDivisionError(f"while {caller.account.email} asked")

    @router.get("/leaky")
    async def leaky(caller: Reader, request: Request) -> Response:
        header = request.headers["authorization"]
        raise ValueError(f"the statement\n[parameters: {{'password': 'hunter2'}}]\n{header} {header[7:]}")

    @router.get("/teapot")
    async def teapot(caller: Reader) -> Response:
        raise HTTPException(418, "Short and stout.")

    @router.get("/counted")
    async def counted(caller: Reader, count: int) -> Response:
        return data(count)

    return router
