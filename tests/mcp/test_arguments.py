"""Arguments of tools."""

import pytest

from waypost.database import Database
from waypost.mcp.arguments import find_problems, read_address
from waypost.mcp.definitions import BY_NAME
from waypost.resources import links


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("sale", ("go.test", "sale")),
        ("https://go.brand.test/sale", ("go.brand.test", "sale")),
        ("GO.brand.test:8000/Sale?r=qr#top", ("go.brand.test:8000", "Sale")),
        ("go.brand.test/a/b%20c", ("go.brand.test", "a/b c")),
        ("https://go.brand.test", ("go.test", "https://go.brand.test")),
        ("/", ("", "")),
        ("", ("go.test", "")),
        ("a\ud800", None),
        ("go.brand.test/%00", None),
        ("go.brand.test/%ff", ("go.brand.test", "\ufffd")),
    ],
)
async def test_reads_addresses_that_every_database_accepts(
    db: Database, name: str, address: tuple[str, str] | None
) -> None:
    assert read_address(name, "go.test") == address
    if address:
        async with db.read() as tx:
            assert await links.find_by_address(tx, *address) is None


def test_reports_all_problems_at_once() -> None:
    problems = find_problems(BY_NAME["create_link"], {"slug": 5, "tags": "a", "url": 1, "title": "a\x00"})
    assert problems == [
        f"Unknown argument. Use: {', '.join(BY_NAME['create_link'].properties)}.",
        "destination_url: This is required.",
        "slug: This must be of the type string.",
        "tags: This must be of the type array.",
        "title: This must not contain control characters.",
    ]


def test_null_is_the_same_as_an_omitted_argument() -> None:
    assert find_problems(BY_NAME["find_links"], {"search": None, "page": None}) == []
    assert find_problems(BY_NAME["get_link"], {"link": None}) == ["link: This is required."]
    assert find_problems(BY_NAME["find_links"], {"page": True}) == ["page: This must be of the type integer."]
