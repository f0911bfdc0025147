"""HTTP tools that every room's API shares: guard, envelope, body, pages. Knows no room."""

from waypost.web.api import PREFIX, new_api
from waypost.web.body import Body, LongText, Text, Timestamp, Upload, Uuid, parse, read_fields
from waypost.web.guard import Guard, path_id
from waypost.web.pagination import page_request, paginated, read_page
from waypost.web.query import read_query
from waypost.web.responses import Json, data, no_content

__all__ = [
    "PREFIX",
    "Body",
    "Guard",
    "Json",
    "LongText",
    "Text",
    "Timestamp",
    "Upload",
    "Uuid",
    "data",
    "new_api",
    "no_content",
    "page_request",
    "paginated",
    "parse",
    "path_id",
    "read_fields",
    "read_page",
    "read_query",
]
