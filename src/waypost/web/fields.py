"""Types for the fields of a body. Nothing is converted: 5 is not a string. Text holds no control characters."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from waypost.kit.clock import parse_timestamp
from waypost.kit.ids import parse_id

ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
"""Of text without control characters, for the OpenAPI document: ECMA-262, and what Python, Go and Rust read alike."""
LINES = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"
"""The same with line breaks and tabs."""

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_CONTROLS_IN_LINES = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_NO_UNICODE = (
    "This is not valid Unicode: it holds an unpaired surrogate, half of a character. Send both halves or neither."
)


class Body(BaseModel):
    """What a body's model derives from. Its fields have defaults, so that `parse` can leave out what failed.

    `model_fields_set` tells what was sent.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, arbitrary_types_allowed=True)


@dataclass(frozen=True, slots=True)
class Upload:
    filename: str
    content_type: str
    content: bytes


def text_problem(text: str) -> str | None:
    """What is wrong with text of one line. None of it is stored, and PostgreSQL would not even compare a NUL."""
    if _SURROGATES.search(text):
        return _NO_UNICODE
    return "This may not hold control characters." if _CONTROLS.search(text) else None


def _one_line(text: str) -> str:
    if problem := text_problem(text):
        raise ValueError(problem)
    return text


def _lines(text: str) -> str:
    if _SURROGATES.search(text):
        raise ValueError(_NO_UNICODE)
    if _CONTROLS_IN_LINES.search(text):
        raise ValueError("This may not hold control characters other than line breaks and tabs.")
    return text


def at_most(count: int) -> AfterValidator:
    def checked(text: str) -> str:
        if len(text) > count:
            raise ValueError(f"This may have at most {count} characters.")
        return text

    return AfterValidator(checked)


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("This may not be blank.")
    return text


NOT_BLANK = AfterValidator(_not_blank)


def few(count: int) -> BeforeValidator:
    """For an object or a list: one that is too long is refused before its entries cost any time."""

    def checked(value: Any) -> Any:
        if isinstance(value, dict | list) and len(value) > count:
            raise ValueError(f"This may have at most {count} entries.")
        return value

    return BeforeValidator(checked)


def _timestamp(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        return parse_timestamp(value if isinstance(value, str) else "")
    except ValueError:
        raise ValueError("This must be an ISO 8601 timestamp, such as 2030-01-31T12:00:00Z.") from None


def _uuid(value: Any) -> UUID:
    parsed = parse_id(value) if isinstance(value, str) else None
    if parsed is None:
        raise ValueError("This must be a UUID.")
    return parsed


Text = Annotated[str, AfterValidator(_one_line), WithJsonSchema({"type": "string", "pattern": ONE_LINE})]
LongText = Annotated[str, AfterValidator(_lines), WithJsonSchema({"type": "string", "pattern": LINES})]
"""Text that may have several lines."""
Timestamp = Annotated[datetime, BeforeValidator(_timestamp)]
Uuid = Annotated[UUID, BeforeValidator(_uuid)]
