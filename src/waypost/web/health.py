"""Liveness and readiness, for load balancers and supervisors."""

from collections.abc import Callable

from fastapi import APIRouter
from starlette.responses import JSONResponse

from waypost.database import Database
from waypost.database.schema import pending
from waypost.kit.errors import Unavailable


def routes(db: Database, *, is_leaving: Callable[[], bool]) -> APIRouter:
    """`is_leaving`: the process is stopping, so it should get no new requests."""
    router = APIRouter(include_in_schema=False)

    @router.get("/healthz")
    async def healthz() -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @router.get("/readyz")
    async def readyz() -> JSONResponse:
        reasons = ["stopping"] if is_leaving() else await _reasons(db)
        if reasons:
            return JSONResponse({"status": "unavailable", "reasons": reasons}, 503, {"Retry-After": "1"})
        return JSONResponse({"status": "ready"})

    return router


async def _reasons(db: Database) -> list[str]:
    try:
        present, newest = await pending(db)
    except Unavailable as error:
        return [error.message]
    return [] if present == newest else ["The database's schema is not current: run `waypost migrate`."]
