"""JSON endpoints of the account and its keys. Any valid key may use them."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from waypost.accounts import ApiCaller, list_keys
from waypost.accounts.keys.schemas import ListedApiKeyJson, MeJson, key_to_json, me_to_json
from waypost.database import Database
from waypost.kit.clock import Clock, now
from waypost.web import Data, Guard, data, new_router


def endpoints(db: Database, guard: Guard, *, shared_domain: str, clock: Clock = now) -> APIRouter:
    router = new_router("account")
    Anyone = Annotated[ApiCaller, Depends(guard.allow(None))]  # noqa: N806  # a type

    @router.get("/me", name="get", summary="Get the account", response_model=Data[MeJson])
    async def me(caller: Anyone) -> Response:
        """Return the account, its plan, and the key of the request."""
        return data(me_to_json(caller, shared_domain, clock()))

    @router.get(
        "/tokens", operation_id="keys_list", summary="List API keys", response_model=Data[list[ListedApiKeyJson]]
    )
    async def tokens(caller: Anyone) -> Response:
        """List all keys, newest first, also expired and revoked ones. Their text is never shown again."""
        keys = await list_keys(db, caller.account.id)
        return data([key_to_json(key) for key in keys])

    return router
