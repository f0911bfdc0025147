"""The account's JSON face: who am I, and which keys are there. Any valid key may ask."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from waypost.auth import KeyHolder, list_keys
from waypost.database import Database
from waypost.kit.clock import Clock, now
from waypost.resources.account import openapi, schemas
from waypost.web import PREFIX, Guard, data


def routes(db: Database, guard: Guard, *, shared_domain: str, clock: Clock = now) -> APIRouter:
    router = APIRouter(prefix=PREFIX, tags=["account"])
    Anyone = Annotated[KeyHolder, Depends(guard.allow(None))]  # noqa: N806  # a type

    @router.get("/me", **openapi.ME)
    async def me(caller: Anyone) -> Response:
        return data(schemas.me(caller, shared_domain, clock()))

    @router.get("/tokens", **openapi.TOKENS)
    async def tokens(caller: Anyone) -> Response:
        keys = await list_keys(db, caller.account.id)
        return data([schemas.token(key) for key in keys])

    return router
