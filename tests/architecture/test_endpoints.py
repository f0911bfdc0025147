"""The endpoints of the application are those of `facts.py`, no fewer and no more."""

import pytest
from architecture.facts import ENDPOINTS, NO_SUCH_VERB, PREFIX, SIGNED, Endpoint
from architecture.running import RunningApp, routes_of


async def test_every_endpoint_of_the_specification_exists_and_no_other(running: RunningApp) -> None:
    in_api = {(method, path.removeprefix(PREFIX)) for method, path in routes_of(running.app) if path.startswith(PREFIX)}
    built = {
        (endpoint.method, endpoint.path) for endpoint in (*ENDPOINTS.values(), SIGNED, SIGNED._replace(method="HEAD"))
    }
    assert {route for route in in_api if route[1].startswith("/v1/")} == built


def test_no_endpoint_is_listed_twice() -> None:
    assert len({*ENDPOINTS.values(), SIGNED}) == len(ENDPOINTS) + 1 == 76


@pytest.mark.parametrize(("method", "path"), NO_SUCH_VERB)
async def test_verbs_that_shall_never_be(running: RunningApp, method: str, path: str) -> None:
    answer = await running.ask(None, Endpoint(method, path, None, 0), "01a1fbb2-2855-72ee-8e77-c161c4205e89")
    is_known = any(endpoint.path == path for endpoint in ENDPOINTS.values())
    assert answer.status_code == (405 if is_known else 404)


async def test_openapi_document_describes_each_endpoint(running: RunningApp) -> None:
    paths = (await running.client.get("/api/openapi.json")).json()["paths"]
    reported = {(method.upper(), path.removeprefix(PREFIX)) for path, verbs in paths.items() for method in verbs}
    assert reported == {(endpoint.method, endpoint.path) for endpoint in (*ENDPOINTS.values(), SIGNED)}
