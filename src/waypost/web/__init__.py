"""HTTP code shared by all resources: guard, error envelope, request body, pagination. Knows no resource."""

from waypost.serving.status import headers_of, status_of
from waypost.web.api import PREFIX, Endpoints, EventDocs, error_responses, new_api, new_router
from waypost.web.body import ParsedBody, has_no_content, read_bulk, read_fields, read_json
from waypost.web.envelope import DESTINATION_CHECK, Data, counted, data, no_content
from waypost.web.guard import Guard, PathId
from waypost.web.openapi.parameters import PAGING, parameter, query_parameters
from waypost.web.pagination import Paginated, paginated, read_pagination, read_query, require_pagination

__all__ = [
    "DESTINATION_CHECK",
    "PAGING",
    "PREFIX",
    "Data",
    "Endpoints",
    "EventDocs",
    "Guard",
    "Paginated",
    "ParsedBody",
    "PathId",
    "counted",
    "data",
    "error_responses",
    "has_no_content",
    "headers_of",
    "new_api",
    "new_router",
    "no_content",
    "paginated",
    "parameter",
    "query_parameters",
    "read_bulk",
    "read_fields",
    "read_json",
    "read_pagination",
    "read_query",
    "require_pagination",
    "status_of",
]
