"""HTTP code shared by all resources: guard, error envelope, request body, pagination. Knows no resource."""

from waypost.http.status import headers_of, status_of
from waypost.web.api import new_api
from waypost.web.body import has_no_content, read_bulk, read_fields, read_json
from waypost.web.endpoint import PREFIX, Endpoint, Endpoints, EventDocs, Representation
from waypost.web.envelope import DESTINATION_CHECK, Data, counted, data
from waypost.web.guard import Guard
from waypost.web.openapi.parameters import PAGING, parameter
from waypost.web.pagination import Paginated, read_pagination, read_query
