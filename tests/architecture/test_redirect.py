"""The redirect's headers are those of `facts.py`, and the application's own paths are never taken for a slug."""

import re

import pytest
from architecture.facts import ENDPOINTS, REDIRECT_HEADERS, REDIRECT_STATUS, SCOPES, SLUG_CHARACTERS
from architecture.running import RunningApp, routes_of

from waypost.settings.reserved import RESERVED

CREATE = ENDPOINTS["links_create"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_answers_a_visit_with_a_redirect(running: RunningApp, method: str) -> None:
    link = await running.link(await running.key(await running.account(), SCOPES))
    answer = await running.client.request(method, f"http://{link['short_url']}")
    assert (answer.status_code, answer.content) == (REDIRECT_STATUS, b"")
    assert dict(answer.headers) == REDIRECT_HEADERS | {"location": link["destination_url"]}


async def test_every_route_begins_with_a_reserved_segment(running: RunningApp) -> None:
    paths = [*running.pages, *(path for _, path in routes_of(running.app))]
    segments = {path.split("/")[1] for path in paths}
    assert segments - {""} <= RESERVED
    assert not any(re.search(r"[{}]", segment) for segment in segments)


def test_reserved_segments_are_compared_in_lower_case() -> None:
    assert {segment.lower() for segment in RESERVED} == RESERVED


async def test_no_slug_is_reserved(running: RunningApp) -> None:
    account, could_be = await running.account(), sorted(name for name in RESERVED if set(name) <= SLUG_CHARACTERS)
    for start in range(0, len(could_be), 20):
        key = await running.key(account, SCOPES)
        for name in could_be[start : start + 20]:
            for slug in (name, name.upper()):
                errors = (await running.ask(key, CREATE, json={"slug": slug})).json()["error"]["errors"]
                assert "slug" in errors, slug
