"""Figures over JSON. Thin: reads the request, calls a verb, shows what was added up."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from waypost.auth import Caller
from waypost.database import Database
from waypost.kit.clock import Clock, now
from waypost.resources import links
from waypost.resources.clicks.stats import openapi, query, schemas
from waypost.resources.clicks.stats.read import service
from waypost.resources.clicks.subject import Subject
from waypost.web import PREFIX, Guard, data, path_id

_OF_LINK = "/links/{id}/stats"


def routes(db: Database, guard: Guard, *, shared_domain: str, clock: Clock = now) -> APIRouter:
    router = APIRouter(prefix=PREFIX, tags=["stats"])
    reader = Annotated[Caller, Depends(guard.allow("links:read"))]
    id_of_path = Annotated[UUID, Depends(path_id)]

    @router.get("/stats", **openapi.OF_ACCOUNT)
    async def of_account(caller: reader, request: Request) -> Response:
        at = clock()
        wanted, of = query.read(request, at), Subject(caller.account.id, is_account=True)
        async with db.read_for(caller.account.id) as tx:
            stats = await service.read(tx, of, wanted, shared_domain=shared_domain, now=at)
        return data(schemas.of_account(wanted, stats))

    @router.get(_OF_LINK, **openapi.OF_LINK)
    async def of_link(caller: reader, link_id: id_of_path, request: Request) -> Response:
        at = clock()
        wanted = query.read(request, at)
        async with db.read_for(caller.account.id) as tx:
            link = await links.require(tx, caller.account.id, link_id)
            stats = await service.read(tx, Subject(link.id), wanted, shared_domain=shared_domain, now=at)
        return data(schemas.of_link(link_id, wanted, stats))

    return router
