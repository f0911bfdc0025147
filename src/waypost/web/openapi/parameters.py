"""Parameters of endpoints that read their query themselves, and of paths that have more than ids."""

from typing import Any

from waypost.kit.pagination import DEFAULT_PER_PAGE, MAX_PER_PAGE

Schema = dict[str, Any]


def parameter(name: str, schema: Schema, description: str, example: Any = None) -> Schema:
    """`example`: for all but lists of values."""
    about = {"name": name, "in": "query", "required": False, "description": description}
    return {**about, "schema": schema, "example": example}


PAGING = (
    parameter("page", {"type": "integer", "minimum": 1, "default": 1}, "Page number", 2),
    parameter(
        "per_page",
        {"type": "integer", "minimum": 1, "default": DEFAULT_PER_PAGE},
        f"Items per page; the maximum is {MAX_PER_PAGE}",
        50,
    ),
)
