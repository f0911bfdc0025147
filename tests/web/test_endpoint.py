"""The endpoint of a request is found by its path and method, before the caller is known."""

import httpx
import pytest
from endpoints import THING
from people import Person

from waypost.resources.links import api as links_api
from waypost.resources.links.routing import api as routing_api


@pytest.mark.parametrize("path", ["/things/", "/things//", "/things/{id}/", "//things", "/things/a/b", "/thing", ""])
async def test_other_paths_are_unknown(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(f"/api/v1{path}")).status_code == 404


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "DELETE", "BREW"])
async def test_other_methods_are_refused_without_a_key(client: httpx.AsyncClient, method: str) -> None:
    answer = await client.request(method, THING)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, PATCH")


async def test_a_name_in_braces_is_an_invalid_id(client: httpx.AsyncClient, alice: Person) -> None:
    for path in ("/things/{id}", "/things/%7Bid%7D"):
        assert (await client.get(f"/api/v1{path}", headers=alice.headers)).status_code == 404


def test_a_body_is_needed_where_fields_are_required_or_nothing_would_remain() -> None:
    needed = {each.operation: each.needs_body for each in (*links_api.ENDPOINTS, *routing_api.ENDPOINTS) if each.body}
    assert needed == {
        "links_create": True,
        "links_update": False,
        "links_upsert": True,
        "links_create_alias": True,
        "links_update_options": False,
        "tags_create": True,
        "tags_update": False,
        "links_set_routing": True,
        "links_bulk_create": True,
        "links_bulk_update": True,
        "links_bulk_delete": True,
    }
