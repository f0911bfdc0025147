"""The header of an answer whose destination could not be reached, and was accepted because the settings are lenient."""

from starlette.responses import Response

from waypost.kit.errors import Problems
from waypost.web import DESTINATION_CHECK

CHECKED = (DESTINATION_CHECK,)
"""For the OpenAPI document."""


def with_check(response: Response, problems: Problems) -> Response:
    if problems.reasons:
        response.headers[DESTINATION_CHECK] = "unreachable"
    return response
