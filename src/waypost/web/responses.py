"""JSON responses: the `data` wrapper of the specification, in UTF-8 that can echo any input."""

import json
from typing import Any, Generic, TypeVar

from starlette.responses import Response
from typing_extensions import TypedDict

T = TypeVar("T")


class Data(TypedDict, Generic[T]):
    data: T


class JsonResponse(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        # a lone surrogate has no UTF-8; its backslash escape is also JSON's own
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


def data(content: Any, status: int = 200) -> JsonResponse:
    """`{"data": …}`. FastAPI neither copies nor validates a response that an endpoint returns."""
    return JsonResponse({"data": content}, status)


def no_content() -> Response:
    return Response(status_code=204)
