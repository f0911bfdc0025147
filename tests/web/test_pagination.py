import json
import re
from typing import Any

import pytest
from starlette.requests import Request

from waypost.kit.errors import Invalid
from waypost.kit.pagination import Page, PageRequest
from waypost.web.pagination import paginated, require_pagination

BASE = "https://app.test"


def request(query: str = "", path: str = "/api/v1/links") -> Request:
    headers = [(b"host", b"evil.test")]
    return Request({"type": "http", "path": path, "query_string": query.encode(), "headers": headers})


def page(items: int, total: int, query: str = "") -> dict[str, Any]:
    asked = request(query)
    answer = paginated(Page([{"n": n} for n in range(items)], total, require_pagination(asked)), asked, BASE)
    content: dict[str, Any] = json.loads(bytes(answer.body))
    return content


def test_paginates_a_list_with_links_and_meta() -> None:
    assert page(15, 40, "page=2") == {
        "data": [{"n": n} for n in range(15)],
        "links": {
            "first": f"{BASE}/api/v1/links?page=1",
            "last": f"{BASE}/api/v1/links?page=3",
            "prev": f"{BASE}/api/v1/links?page=1",
            "next": f"{BASE}/api/v1/links?page=3",
        },
        "meta": {
            "current_page": 2,
            "from": 16,
            "last_page": 3,
            "path": f"{BASE}/api/v1/links",
            "per_page": 15,
            "to": 30,
            "total": 40,
        },
    }


@pytest.mark.parametrize(
    ("query", "total", "relations"),
    [
        ("page=2&tag=a%2Cb%3E", 40, ["first", "last", "prev", "next"]),
        ("", 40, ["first", "last", "next"]),
        ("", 0, ["first", "last"]),
        ("page=9", 40, ["first", "last", "prev"]),
        (f"tag={'x' * 3_000}", 40, []),
    ],
)
def test_the_link_header_has_the_same_urls(query: str, total: int, relations: list[str]) -> None:
    asked = request(query)
    answer = paginated(Page([], total, require_pagination(asked)), asked, BASE)
    links = json.loads(bytes(answer.body))["links"]
    found = re.findall(r'<([^>]+)>; rel="(\w+)"(?:, |$)', answer.headers.get("Link", ""))
    assert found == [(links[name], name) for name in relations]


def test_an_empty_list_has_one_page() -> None:
    empty = page(0, 0)
    assert empty["links"]["first"] == empty["links"]["last"] == f"{BASE}/api/v1/links?page=1"
    assert (empty["links"]["prev"], empty["links"]["next"]) == (None, None)
    assert (empty["meta"]["from"], empty["meta"]["to"], empty["meta"]["last_page"]) == (None, None, 1)


def test_a_page_past_the_end_is_empty() -> None:
    past = page(0, 40, "page=9")
    assert (past["links"]["next"], past["meta"]["from"], past["meta"]["current_page"]) == (None, None, 9)
    assert past["links"]["prev"] == past["links"]["last"] == f"{BASE}/api/v1/links?page=3"


def test_links_have_the_effective_page_size() -> None:
    assert page(100, 300, "per_page=5000")["links"]["next"] == f"{BASE}/api/v1/links?per_page=100&page=2"


def test_links_keep_other_parameters() -> None:
    url = page(15, 40, "tag=a%26b&page=1&tag=c&per_page=15&page=2&search=")["links"]["next"]
    assert url == f"{BASE}/api/v1/links?tag=a%26b&tag=c&per_page=15&page=3"


def test_percent_encodes_the_path() -> None:
    asked = request(path="/api/v1/é b")
    answer = paginated(Page([], 0, PageRequest()), asked, BASE)
    assert json.loads(bytes(answer.body))["meta"]["path"] == f"{BASE}/api/v1/%C3%A9%20b"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", (1, 15)),
        ("page=3&per_page=100", (3, 100)),
        ("per_page=101", (1, 100)),
        ("per_page=" + "9" * 9_000, (1, 100)),
        ("page=007", (7, 15)),
        ("page=9007199254740991", (2**53 - 1, 15)),
        ("page=10000000000000000", (2**53 - 1, 15)),
        ("page=1&page=2", (2, 15)),
    ],
)
def test_reads_page_and_per_page(query: str, expected: tuple[int, int]) -> None:
    asked = require_pagination(request(query))
    assert (asked.page, asked.per_page) == expected


def test_the_farthest_page_fits_the_database() -> None:
    asked = require_pagination(request(f"page={'9' * 9_000}&per_page=100"))
    assert 10**12 < asked.offset + 100 < 2**63


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", "1e3", "+1", " 1", "٣", "²", "0" * 5_000])
def test_refuses_invalid_pages(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        require_pagination(request(f"page={text}&per_page={text}"))
    message = ["This must be an integer of at least 1."]
    assert caught.value.errors == {"page": message, "per_page": message}
