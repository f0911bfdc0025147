"""Query string parameters. An empty value means that the parameter is absent, like an untouched form field."""

from starlette.datastructures import QueryParams
from starlette.requests import Request


def read_query(request: Request) -> QueryParams:
    return QueryParams([(name, text) for name, text in request.query_params.multi_items() if text])
