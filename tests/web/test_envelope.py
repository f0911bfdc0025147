import json

import httpx
import pytest
import structlog
from people import Person
from web_things import THING

from waypost.database import Database
from waypost.kit import errors
from waypost.web.envelope import STATUSES, error_response, log_server_error

SPECIFIED = [
    (errors.BadRequest(), 400, "http_error"),
    (errors.Unauthenticated(), 401, "unauthenticated"),
    (errors.PaymentRequired(), 402, "payment_required"),
    (errors.Forbidden(), 403, "forbidden"),
    (errors.NotFound(), 404, "not_found"),
    (errors.MethodNotAllowed(["GET"]), 405, "method_not_allowed"),
    (errors.NoDomain(), 406, None),
    (errors.TooLarge(1 << 20), 413, "http_error"),
    (errors.Invalid({"slug": ["Taken."]}), 422, "validation_error"),
    (errors.RateLimited(7), 429, "rate_limited"),
    (errors.Unavailable(), 503, "http_error"),
]


def test_it_works() -> None:
    told = error_response(errors.Invalid({"slug": ["Taken."]}))
    assert json.loads(told.body) == {
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


def test_no_error_is_forgotten() -> None:
    kinds = {kind for kind in errors.WaypostError.__subclasses__() if kind.__module__ == errors.__name__}
    assert {type(error) for error, _, _ in SPECIFIED} == set(STATUSES) == kinds


def test_whoever_may_come_again_is_told_when() -> None:
    assert error_response(errors.RateLimited(7)).headers["Retry-After"] == "7"
    assert int(error_response(errors.Unavailable()).headers["Retry-After"]) >= 1


def test_a_more_particular_error_is_answered_as_its_kind() -> None:
    class NoSuchLink(errors.NotFound):
        """There is no such link."""

    told = error_response(NoSuchLink())
    assert (told.status_code, json.loads(told.body)["error"]["message"]) == (404, "There is no such link.")


def test_any_text_can_be_told() -> None:
    told = error_response(errors.Invalid({"\ud800": ["\udfff\0é"]}))
    assert json.loads(told.body)["error"]["errors"] == {"\ud800": ["\udfff\0é"]}


async def test_wrong_verb_names_all_right_ones(client: httpx.AsyncClient) -> None:
    told = await client.put(THING)
    assert told.headers["Allow"] == "GET, PATCH"
    assert told.json()["error"]["message"] == "The path does not take that method. Use one of: GET, PATCH."
    assert (await client.get("/api/v1/things")).headers["Allow"] == "POST"


async def test_json_whatever_was_accepted(client: httpx.AsyncClient) -> None:
    told = await client.get("/api/nothing", headers={"Accept": "text/html"})
    assert told.headers["Content-Type"] == "application/json"
    assert told.json()["error"]["code"] == "not_found"


async def test_the_unforeseen_is_logged_once_without_secrets(
    client: httpx.AsyncClient, alice: Person, caplog: pytest.LogCaptureFixture
) -> None:
    with structlog.testing.capture_logs() as logs:
        told = await client.get(f"/api/v1/broken?token={alice.key}", headers=alice.headers)
    assert (told.status_code, told.json()["error"]["code"]) == (500, "server_error")
    assert "ZeroDivisionError" not in told.text
    [entry] = logs
    assert entry["error_id"] in told.json()["error"]["message"]
    assert (entry["method"], entry["path"]) == ("GET", "/api/v1/broken")
    assert "ZeroDivisionError" in entry["trace"]
    assert alice.key not in str(logs)
    assert not caplog.records


@pytest.mark.parametrize(
    ("path", "told"), [("/reset/secret", "/reset/…"), ("/enter/secret/", "/enter/…"), ("/links/new", "/links/new")]
)
def test_what_lets_its_bearer_in_is_not_logged(path: str, told: str) -> None:
    with structlog.testing.capture_logs() as logs:
        log_server_error(ZeroDivisionError(), {"type": "http", "method": "POST", "path": path})
    assert [entry["path"] for entry in logs] == [told]


async def test_keys_and_values_in_a_trace_are_blotted_out(client: httpx.AsyncClient, alice: Person) -> None:
    with structlog.testing.capture_logs() as logs:
        await client.get("/api/v1/leaky", headers=alice.headers)
    [entry] = logs
    assert "the statement" in entry["trace"]
    assert alice.key not in str(logs)
    assert "hunter2" not in str(logs)


async def test_a_lost_database_is_unavailable(
    client: httpx.AsyncClient, db: Database, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = Database("postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setattr(db, "point_read", gone.point_read)
    with structlog.testing.capture_logs() as logs:
        told = await client.get(THING, headers=alice.headers)
    assert (told.status_code, told.json()["error"]["code"]) == (503, "http_error")
    assert told.headers["Retry-After"] == "1"
    assert [entry["event"] for entry in logs] == ["service unavailable"]
    assert alice.key not in str(logs)


async def test_a_failure_of_the_framework_is_enveloped(client: httpx.AsyncClient, alice: Person) -> None:
    told = await client.get("/api/v1/teapot", headers=alice.headers)
    assert (told.status_code, told.json()) == (418, {"error": {"code": "http_error", "message": "Short and stout."}})


async def test_a_declared_parameter_is_told_like_a_field(client: httpx.AsyncClient, alice: Person) -> None:
    told = await client.get("/api/v1/counted?count=many", headers=alice.headers)
    assert told.json()["error"]["errors"] == {"count": ["This must be an integer."]}
