"""HTTP code shared by all resources: guard, error envelope, request body, pagination. Knows no resource."""

from waypost.web.api import PREFIX, new_api
from waypost.web.body import ParsedBody, read_fields
from waypost.web.guard import Guard, path_id
from waypost.web.openapi import PAGING, error_responses, parameter, query_parameters
from waypost.web.pagination import Paginated, page_request, paginated, read_page
from waypost.web.query import read_query
from waypost.web.responses import Data, data, no_content

__all__ = [
    "PAGING",
    "PREFIX",
    "Data",
    "Guard",
    "Paginated",
    "ParsedBody",
    "data",
    "error_responses",
    "new_api",
    "no_content",
    "page_request",
    "paginated",
    "parameter",
    "path_id",
    "query_parameters",
    "read_fields",
    "read_page",
    "read_query",
]
