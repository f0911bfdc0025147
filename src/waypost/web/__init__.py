"""HTTP code shared by all resources: guard, error envelope, request body, pagination. Knows no resource."""

from waypost.web.api import PREFIX, new_api
from waypost.web.body import read_fields
from waypost.web.guard import Guard, path_id
from waypost.web.pagination import page_request, paginated, read_page
from waypost.web.query import read_query
from waypost.web.responses import Json, data, no_content

__all__ = [
    "PREFIX",
    "Guard",
    "Json",
    "data",
    "new_api",
    "no_content",
    "page_request",
    "paginated",
    "path_id",
    "read_fields",
    "read_page",
    "read_query",
]
