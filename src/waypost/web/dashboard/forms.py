"""Forms as API bodies: the resources' own schemas parse them, and errors come back by field.

Nested names are as in multipart bodies of the API: `tags[]`, `utm_params[utm_source]`. A blank field is null.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl

from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from waypost.kit.errors import Errors, Invalid, RateLimited, WaypostError
from waypost.web.body import malformed, nest, read_body, read_multipart

_MAX_SIZE = 1 << 20


@dataclass(frozen=True, slots=True)
class Form:
    """The values of a form's fields, and their errors."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    errors: Errors = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return the text of a field, `utm_params.utm_source` for a nested one. Empty if there is none."""
        value: Any = self.fields
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """Return the texts of a field that can occur several times."""
        value = self.fields.get(name)
        return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []

    def is_checked(self, name: str) -> bool:
        return self.fields.get(name) is True or bool(self.text(name))

    def error(self, name: str) -> str:
        """Return the errors of a field and of its entries. Empty if there are none."""
        matching = (texts for key, texts in self.errors.items() if key == name or key.startswith(f"{name}."))
        return " ".join(dict.fromkeys(text for texts in matching for text in texts))

    def with_errors(self, errors: Errors) -> "Form":
        return replace(self, errors=errors)

    def with_error(self, error: WaypostError) -> "Form":
        """Show an error at its fields, or above them if it names none."""
        if isinstance(error, Invalid):
            return self.with_errors(error.explained)
        message = error.message
        if isinstance(error, RateLimited):
            message = f"Too many attempts. Try again in {error.retry_after} second{'s' * (error.retry_after > 1)}."
        return self.with_errors({"body": [message]})


BLANK = Form()


async def read_fields(request: Request, limit: int, *, max_fields: int) -> dict[str, Any]:
    """Read a form. Raises Invalid on `body`, and TooLarge beyond `limit` bytes. Without files, the limit is 1 MiB.

    `max_fields`: of a form without files.
    """
    kind, options = parse_options_header(request.headers.get("content-type", "")[:256])
    if kind == b"multipart/form-data":
        body = await read_body(request, limit)
        return read_multipart(body, options.get(b"boundary", b""))
    if kind != b"application/x-www-form-urlencoded":
        raise malformed("Send a form: application/x-www-form-urlencoded or multipart/form-data.")
    body = await read_body(request, min(limit, _MAX_SIZE))
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=max_fields + 1, errors="strict")
    except ValueError:
        raise malformed("The form cannot be read.") from None
    return nest((name, text or None) for name, text in pairs)
