"""JSON as it leaves: the specification's wrapping, and text that any input can be echoed in."""

import json
from typing import Any

from starlette.responses import Response


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        # a lone surrogate has no UTF-8; its backslash escape is also JSON's own
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


def data(content: Any, status: int = 200) -> Json:
    """`{"data": …}`. Returned from an endpoint as it is: FastAPI then neither copies nor validates it."""
    return Json({"data": content}, status)


def no_content() -> Response:
    return Response(status_code=204)
