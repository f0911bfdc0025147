"""Parameters of endpoints that read their query themselves, and of paths that have more than ids."""

from typing import Any

from waypost.kit.deprecation import Deprecation
from waypost.kit.pagination import DEFAULT_PER_PAGE, MAX_PER_PAGE

Schema = dict[str, Any]


def parameter(
    name: str, schema: Schema, description: str, example: Any = None, *, deprecated: Deprecation | None = None
) -> Schema:
    """`example`: for all but lists of values."""
    about = {"name": name, "in": "query", "required": False, "description": description}
    return {**about, "schema": schema, "example": example} | ({"deprecated": deprecated} if deprecated else {})


_ETAG = '"1f0c5a7be2d94c3a8f61-5b2e9d04"'
_ETAGS: Schema = {"type": "string"}
IF_NONE_MATCH: Schema = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "schema": _ETAGS,
    "example": _ETAG,
    "description": "ETags of earlier responses. A response that would be one of these is 304 without a body.",
}
IF_MATCH: Schema = {
    **IF_NONE_MATCH,
    "name": "If-Match",
    "description": (
        "ETags of earlier responses, or `*`. If the resource has changed since, the request gets 412 and changes"
        " nothing. Clicks and other counters do not count as changes."
    ),
}
IF_ABSENT: Schema = {
    **IF_NONE_MATCH,
    "example": "*",
    "description": "`*`, if the request shall only create: if there is one already, it gets 412 and changes nothing.",
}


PAGING = (
    parameter("page", {"type": "integer", "minimum": 1, "default": 1}, "Page number", 2),
    parameter(
        "per_page",
        {"type": "integer", "minimum": 1, "default": DEFAULT_PER_PAGE},
        f"Items per page; the maximum is {MAX_PER_PAGE}",
        50,
    ),
)
