"""An empty parameter is absent on every list of the dashboard. architecture/test_openapi.py shows it of the API."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from browsing import open_place
from starlette.requests import Request

from waypost.web import read_query

LISTS: Mapping[str, tuple[str, ...]] = {
    "/": ("period", "from", "to", "interval", "timezone"),
    "/links": ("page", "per_page", "search", "tag", "hostname", "status", "sort"),
    "/domains": ("page", "per_page"),
    "/pixels": ("page", "per_page"),
    "/webhooks": ("page", "per_page", "status", "event", "before"),
    "/integrations/api": ("page", "per_page"),
}


def test_drops_empty_parameters() -> None:
    request = Request({"type": "http", "query_string": b"page=&tag=a&tag=&tag=b&search=%20", "headers": []})
    assert read_query(request).multi_items() == [("tag", "a"), ("tag", "b"), ("search", " ")]


async def test_lists_of_the_dashboard_ignore_empty_parameters(database_url: str, tmp_path: Path) -> None:
    async with open_place(database_url, tmp_path) as place:
        ann = await place.browser("ann@example.com")
        for path, names in LISTS.items():
            empty = await ann.get(f"{path}?{'&'.join(f'{name}=' for name in names)}")
            assert (empty.status_code, "aria-invalid" in empty.text) == (200, False), path


@pytest.mark.parametrize("name", ["page", "per_page"])
async def test_reads_parameters_with_values(database_url: str, tmp_path: Path, name: str) -> None:
    async with open_place(database_url, tmp_path) as place:
        ann = await place.browser("ann@example.com")
        assert (await ann.get(f"/domains?{name}=x")).status_code == 422
