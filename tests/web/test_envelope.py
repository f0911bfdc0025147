import json

import httpx
import pytest
import structlog
from endpoints import THING
from people import Person

from waypost.database import Database
from waypost.http.status import STATUSES
from waypost.kit import errors
from waypost.web.envelope import error_response, log_server_error

SPECIFIED = [
    (errors.BadRequest(), 400, "http_error"),
    (errors.Unauthenticated(), 401, "unauthenticated"),
    (errors.PaymentRequired(), 402, "payment_required"),
    (errors.Forbidden(), 403, "forbidden"),
    (errors.NotFound(), 404, "not_found"),
    (errors.MethodNotAllowed(["GET"]), 405, "method_not_allowed"),
    (errors.UnregistrableName(), 406, None),
    (errors.InProgress(), 409, "http_error"),
    (errors.PreconditionFailed(), 412, "http_error"),
    (errors.TooLarge(1 << 20), 413, "http_error"),
    (errors.Invalid({"slug": ["Taken."]}), 422, "validation_error"),
    (errors.RateLimited(7), 429, "rate_limited"),
    (errors.Unavailable(), 503, "http_error"),
]


def test_writes_the_error_envelope() -> None:
    response = error_response(errors.Invalid({"slug": ["Taken."]}))
    assert json.loads(response.body) == {
        "error": {
            "code": "validation_error",
            "message": "The given data was invalid.",
            "errors": {"slug": ["Taken."]},
        }
    }


@pytest.mark.parametrize(("error", "status", "code"), SPECIFIED)
def test_every_error_has_its_status_and_code(error: errors.WaypostError, status: int, code: str | None) -> None:
    response = error_response(error)
    body = json.loads(response.body)
    if code is None:  # without the envelope
        assert (response.status_code, body) == (status, {"message": error.message})
        return
    body = body["error"]
    assert (response.status_code, body["code"], body["message"]) == (status, code, error.message)
    assert ("errors" in body) == (status == 422)


def test_every_domain_error_has_a_status() -> None:
    kinds = {kind for kind in errors.WaypostError.__subclasses__() if kind.__module__ == errors.__name__}
    assert {type(error) for error, _, _ in SPECIFIED} == set(STATUSES) == kinds


def test_sends_retry_after() -> None:
    assert error_response(errors.RateLimited(7)).headers["Retry-After"] == "7"
    assert int(error_response(errors.Unavailable()).headers["Retry-After"]) >= 1


def test_a_subclass_gets_the_status_of_its_parent() -> None:
    class NoSuchLink(errors.NotFound):
        """There is no such link."""

    response = error_response(NoSuchLink())
    assert (response.status_code, json.loads(response.body)["error"]["message"]) == (404, "There is no such link.")


def test_error_messages_can_hold_any_text() -> None:
    response = error_response(errors.Invalid({"\ud800": ["\udfff\0é"]}))
    assert json.loads(response.body)["error"]["errors"] == {"\ud800": ["\udfff\0é"]}


async def test_a_wrong_method_lists_all_allowed_methods(client: httpx.AsyncClient) -> None:
    response = await client.put(THING)
    assert response.headers["Allow"] == "GET, PATCH"
    assert response.json()["error"]["message"] == "The URL does not support the method. Supported: GET, PATCH."
    assert (await client.get("/api/v1/things")).headers["Allow"] == "POST"


async def test_errors_are_json_whatever_the_client_accepts(client: httpx.AsyncClient) -> None:
    response = await client.get("/api/nothing", headers={"Accept": "text/html"})
    assert response.headers["Content-Type"] == "application/json"
    assert response.json()["error"]["code"] == "not_found"


async def test_logs_an_unexpected_error_once_without_secrets(
    client: httpx.AsyncClient, alice: Person, caplog: pytest.LogCaptureFixture
) -> None:
    with structlog.testing.capture_logs() as logs:
        response = await client.get(f"/api/v1/broken?token={alice.key}", headers=alice.headers)
    assert (response.status_code, response.json()["error"]["code"]) == (500, "server_error")
    assert "ZeroDivisionError" not in response.text
    [entry] = logs
    assert entry["error_id"] in response.json()["error"]["message"]
    assert (entry["method"], entry["path"]) == ("GET", "/api/v1/broken")
    assert "ZeroDivisionError" in entry["trace"]
    assert alice.key not in str(logs)
    assert not caplog.records


@pytest.mark.parametrize(
    ("path", "response"), [("/reset/secret", "/reset/…"), ("/enter/secret/", "/enter/…"), ("/links/new", "/links/new")]
)
def test_sign_in_tokens_are_not_logged(path: str, response: str) -> None:
    with structlog.testing.capture_logs() as logs:
        log_server_error(ZeroDivisionError(), {"type": "http", "method": "POST", "path": path})
    assert [entry["path"] for entry in logs] == [response]


async def test_redacts_keys_and_values_in_tracebacks(client: httpx.AsyncClient, alice: Person) -> None:
    with structlog.testing.capture_logs() as logs:
        await client.get("/api/v1/leaky", headers=alice.headers)
    [entry] = logs
    assert "the statement" in entry["trace"]
    assert alice.key not in str(logs)
    assert "hunter2" not in str(logs)


async def test_a_lost_database_gets_503(
    client: httpx.AsyncClient, db: Database, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = Database("postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setattr(db, "point_read", gone.point_read)
    with structlog.testing.capture_logs() as logs:
        response = await client.get(THING, headers=alice.headers)
    assert (response.status_code, response.json()["error"]["code"]) == (503, "http_error")
    assert response.headers["Retry-After"] == "1"
    assert [entry["event"] for entry in logs] == ["service unavailable"]
    assert alice.key not in str(logs)


async def test_framework_errors_get_the_envelope(client: httpx.AsyncClient, alice: Person) -> None:
    response = await client.get("/api/v1/teapot", headers=alice.headers)
    assert (response.status_code, response.json()) == (
        418,
        {"error": {"code": "http_error", "message": "Short and stout."}},
    )
