"""What is deprecated is declared once: responses to requests that use it say so, and so does the documentation."""

from typing import Any

import httpx
import pytest
from endpoints import DEPRECATED, OLD, OLD_FIELD, OLD_PARAMETER, THING
from people import Person

from docs_site.api_pages import api_pages
from waypost.kit.deprecation import PAGE
from waypost.web.openapi.document import describe

LINK = f'<{PAGE}>; rel="deprecation"; type="text/html"'
MARCH_2027, FEBRUARY_2027, APRIL_2027 = "@1803859200", "@1801440000", "@1806537600"
MARCH_2028, FEBRUARY_2028 = "Wed, 01 Mar 2028 00:00:00 GMT", "Tue, 01 Feb 2028 00:00:00 GMT"


def deprecation_headers(answer: httpx.Response) -> list[str | None]:
    assert (answer.headers.get("Link") == LINK) is ("Deprecation" in answer.headers)
    return [answer.headers.get(name) for name in ("Deprecation", "Sunset")]


@pytest.mark.parametrize(
    ("method", "path", "sent", "expected"),
    [
        ("GET", "/links/old", None, [MARCH_2027, MARCH_2028]),
        ("GET", "/links/old?wrong=1", None, [MARCH_2027, MARCH_2028]),
        ("GET", "/links/partly?before=b", None, [FEBRUARY_2027, None]),
        ("GET", "/links/partly", None, [None, None]),
        ("POST", "/links/partly", {"colour": "red"}, [APRIL_2027, FEBRUARY_2028]),
        ("POST", "/links/partly", {"colour": 5}, [APRIL_2027, FEBRUARY_2028]),
        ("POST", "/links/partly", {"parts": [5, {"colour": "red"}]}, [APRIL_2027, FEBRUARY_2028]),
        ("POST", "/links/partly", {"name": "A", "parts": [{}], "colours": 1}, [None, None]),
    ],
)
async def test_responses_say_what_a_request_uses(
    client: httpx.AsyncClient, alice: Person, method: str, path: str, sent: Any, expected: list[str | None]
) -> None:
    answer = await client.request(method, f"/api/v1{path}", json=sent, headers=alice.headers)
    assert deprecation_headers(answer) == expected


async def test_all_answers_of_a_deprecated_endpoint_say_so(client: httpx.AsyncClient, alice: Person) -> None:
    assert deprecation_headers(await client.get("/api/v1/links/old")) == [MARCH_2027, MARCH_2028]
    assert deprecation_headers(await client.get(THING, headers=alice.headers)) == [None, None]


def test_the_openapi_document_and_its_pages_say_what_is_deprecated() -> None:
    document = describe(DEPRECATED, [], None)
    old = document["paths"]["/api/v1/links/old"]["get"]
    assert (old["deprecated"], old["description"]) == (
        True,
        "**Deprecated** since 2027-03-01, will be removed on 2028-03-01 or later. Use `/things`.",
    )
    some, create = (document["paths"]["/api/v1/links/partly"][method] for method in ("get", "post"))
    assert ("deprecated" in some, "deprecated" in create) == (False, False)
    before = next(each for each in some["parameters"] if each["name"] == "before")
    assert (before["deprecated"], before["description"]) == (
        True,
        f"**Deprecated** since {OLD_PARAMETER.since}. Use `after`.\n\nThose before",
    )
    assert [each["name"] for each in some["parameters"] if "deprecated" in each] == ["before"]
    schemas = document["components"]["schemas"]
    for name, key in (("ThingCreate", "colour"), ("PartCreate", "colour"), ("Thing", "colour"), ("Thing", "color")):
        assert schemas[name]["properties"][key]["deprecated"] is True, name
        assert f"since {OLD_FIELD.since}, will be" in schemas[name]["properties"][key]["description"]
    assert "deprecated" not in schemas["Thing"]["properties"]["name"]
    index = api_pages(document)["reference/endpoints/index.md"]
    assert index.partition("## Deprecated { #deprecated }\n\n")[2].split("\n\n")[0].splitlines() == [
        f"- `GET /links/old`: {old['description']}",
        f"- `before` of `GET /links/partly`: **Deprecated** since {OLD_PARAMETER.since}. Use `after`.",
        *(
            f"- `{name}`: **Deprecated** since 2027-04-01, will be removed on 2028-02-01 or later. Use `color`."
            for name in ("colour` of `PartCreate", "colour` of `Thing", "color` of `Thing", "colour` of `ThingCreate")
        ),
    ]
    assert str(OLD.since) in index
