"""Every error is the table's: its status, its code, the envelope and nothing beside it."""

import json
from typing import Any

import pytest
from architecture.facts import (
    BARE,
    CODES,
    ENDPOINTS,
    KIT_ERRORS,
    MESSAGES,
    OTHER,
    REQUESTS_PER_MINUTE,
    SCOPES,
    Endpoint,
)
from architecture.running import RunningApp
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.kit import errors
from waypost.web import envelope

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "MethodNotAllowed": (["GET"],),
    "Invalid": ({"slug": ["No."]},),
    "RateLimited": (7,),
    "TooLarge": (1 << 20,),
}
ME = ENDPOINTS["account_get"]


def code_of(status: int) -> str:
    return CODES.get(status, OTHER)


async def test_missing_key_gets_the_error_envelope(running: RunningApp) -> None:
    answer = await running.ask(None, ME)
    assert answer.json() == {"error": {"code": "unauthenticated", "message": errors.Unauthenticated().message}}
    assert answer.headers["content-type"] == "application/json"


def test_every_error_of_the_kit_is_known() -> None:
    own = [each for each in errors.WaypostError.__subclasses__() if each.__module__ == errors.__name__]
    assert {each.__name__ for each in own} == set(KIT_ERRORS | BARE)
    assert envelope.CODES == CODES


@pytest.mark.parametrize(("name", "status"), KIT_ERRORS.items())
def test_the_answer_to(name: str, status: int) -> None:
    error: errors.WaypostError = getattr(errors, name)(*ARGUMENTS.get(name, ()))
    answer = envelope.error_response(error)
    reported = json.loads(bytes(answer.body))["error"]
    assert (answer.status_code, reported["code"], reported["message"]) == (status, code_of(status), error.message)
    assert list(reported) == (["code", "message", "errors"] if status == 422 else ["code", "message"])
    assert reported["message"] == MESSAGES.get(status, reported["message"])


@pytest.mark.parametrize(("name", "status"), BARE.items())
def test_the_bare_answer_to(name: str, status: int) -> None:
    answer = envelope.error_response(getattr(errors, name)("Why."))
    assert (answer.status_code, json.loads(bytes(answer.body))) == (status, {"message": "Why."})


@pytest.mark.parametrize("status", CODES)
async def test_the_application_can_answer(running: RunningApp, status: int) -> None:
    answer = await PROVOKED[status](running)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, CODES[status])
    assert error["message"] == MESSAGES.get(status, error["message"])
    assert ("errors" in error) == (status == 422)


async def paid(running: RunningApp) -> str:
    return await running.key(await running.account(), SCOPES)


async def unauthenticated(running: RunningApp) -> Any:
    return await running.ask(None, ME)


async def payment_required(running: RunningApp) -> Any:
    return await running.ask(await running.key(await running.account("none"), SCOPES), ME)


async def forbidden(running: RunningApp) -> Any:
    return await running.ask(await running.key(await running.account(), ()), Endpoint("GET", "/v1/links", None, 0))


async def not_found(running: RunningApp) -> Any:
    return await running.ask(await paid(running), Endpoint("GET", "/v1/nothing", None, 0))


async def method_not_allowed(running: RunningApp) -> Any:
    return await running.ask(await paid(running), ME._replace(method="PUT"))


async def validation_error(running: RunningApp) -> Any:
    return await running.ask(await paid(running), Endpoint("POST", "/v1/links", None, 0), json={})


async def rate_limited(running: RunningApp) -> Any:
    key = await paid(running)
    for _ in range(REQUESTS_PER_MINUTE):
        await running.ask(key, ME)
    return await running.ask(key, ME)


async def server_error(running: RunningApp) -> Any:
    async def broken(_request: Request) -> Response:
        raise ZeroDivisionError

    running.app.routes.append(Route("/api/v1/broken", broken))
    return await running.ask(None, Endpoint("GET", "/v1/broken", None, 0))


PROVOKED = {
    401: unauthenticated,
    402: payment_required,
    403: forbidden,
    404: not_found,
    405: method_not_allowed,
    422: validation_error,
    429: rate_limited,
    500: server_error,
}
