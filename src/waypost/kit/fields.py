"""Types for the fields of a request body, and `parse`, which validates a body field by field.

Nothing is converted: 5 is not a string. Text contains no control characters.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeVar
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
)
from pydantic_core import CoreSchema, ErrorDetails

from waypost.kit.clock import parse_timestamp
from waypost.kit.colors import parse_color
from waypost.kit.deprecation import Deprecation
from waypost.kit.errors import Problems, Unreadable
from waypost.kit.ids import parse_id

M = TypeVar("M", bound=BaseModel)

ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
"""Matches text without control characters. ECMA-262 for the OpenAPI document; Python, Go and Rust agree on it."""
LINES = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"
"""Matches text with line breaks and tabs, but without other control characters."""

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_CONTROLS_IN_LINES = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_NO_UNICODE = (
    "This is not valid Unicode: it contains an unpaired surrogate, half of a character. Send both halves or neither."
)


REQUIRED = "This field is required."
NOT_NULL = "This must not be null."


class Body(BaseModel):
    """A request body. Its fields have defaults, so that `parse` can leave out those that failed.

    `model_fields_set` are the names that were sent. The class variables are for the OpenAPI document.
    """

    # built at the first use: at the start of a process it would take 0.1 s
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, arbitrary_types_allowed=True, defer_build=True)

    REQUIRED: ClassVar[Collection[str]] = ()
    NOT_NULL: ClassVar[Collection[str]] = ()
    """Fields that must not be null, in addition to REQUIRED."""
    EXAMPLE: ClassVar[Mapping[str, Any]] = {}
    NESTED: ClassVar[Mapping[str, type["Body"]]] = {}
    """Models of objects in a field, or of the entries of its list, for fields that are parsed apart."""

    def check_required(self, problems: Problems) -> None:
        """Add a problem for each of REQUIRED that is missing or null, and each of NOT_NULL that was sent as null."""
        for name in self.REQUIRED:
            if getattr(self, name) is None and name not in problems:
                problems.add(name, REQUIRED)
        for name in self.NOT_NULL:
            if name in self.model_fields_set and getattr(self, name) is None:
                problems.add(name, NOT_NULL)

    @classmethod
    def deprecated(cls, sent: Mapping[str, Any] | None = None) -> Iterator[Deprecation]:
        """Yield what is deprecated of the fields, and of those of objects in them. `sent`: None is all."""
        for name, about in cls.model_fields.items():
            if isinstance(about.json_schema_extra, Deprecation) and (sent is None or name in sent):
                yield about.json_schema_extra
        for name, nested in cls.NESTED.items():
            value = sent.get(name) if sent is not None else [None]
            for entry in value if isinstance(value, list) else [value]:
                if sent is None or isinstance(entry, Mapping):
                    yield from nested.deprecated(entry)


@dataclass(frozen=True, slots=True)
class Upload:
    filename: str
    content_type: str
    content: bytes


def text_problem(text: str) -> str | None:
    """Return the problem with text of one line, or None. PostgreSQL cannot even compare a NUL."""
    if _SURROGATES.search(text):
        return _NO_UNICODE
    return "This must not contain control characters." if _CONTROLS.search(text) else None


def _one_line(text: str) -> str:
    if problem := text_problem(text):
        raise ValueError(problem)
    return text


def _lines(text: str) -> str:
    if _SURROGATES.search(text):
        raise ValueError(_NO_UNICODE)
    if _CONTROLS_IN_LINES.search(text):
        raise ValueError("This must not contain control characters other than line breaks and tabs.")
    return text


@dataclass(frozen=True, slots=True, eq=False)
class Documented:
    """Adds keywords to a field's JSON schema, for rules that are functions, such as `validator`."""

    keywords: Mapping[str, Any]
    validator: AfterValidator | BeforeValidator | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return self.validator.__get_pydantic_core_schema__(source, handler) if self.validator else handler(source)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), **self.keywords}


def max_characters(count: int) -> Documented:
    def checked(text: str) -> str:
        if len(text) > count:
            raise ValueError(f"This must have at most {count:,} characters.")
        return text

    return Documented({"maxLength": count}, AfterValidator(checked))


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("This must not be blank.")
    return text


NOT_BLANK = Documented({"minLength": 1}, AfterValidator(_not_blank))


def max_entries(count: int) -> Documented:
    """Limit the entries of a list."""
    return _limit_size("maxItems", count)


def max_keys(count: int) -> Documented:
    """Limit the keys of an object."""
    return _limit_size("maxProperties", count)


def _limit_size(keyword: str, count: int) -> Documented:
    """Refuse a longer value before its entries are validated."""

    def checked(value: Any) -> Any:
        if isinstance(value, dict | list) and len(value) > count:
            raise ValueError(f"This must have at most {count:,} entries.")
        return value

    return Documented({keyword: count}, BeforeValidator(checked))


def _timestamp(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        return parse_timestamp(value if isinstance(value, str) else "")
    except ValueError:
        raise ValueError("This must be a date and time in ISO 8601 format, such as 2030-01-31T12:00:00Z.") from None


def _uuid(value: Any) -> UUID:
    parsed = parse_id(value) if isinstance(value, str) else None
    if parsed is None:
        raise ValueError("This must be a UUID.")
    return parsed


Text = Annotated[str, AfterValidator(_one_line), Documented({"pattern": ONE_LINE})]
LongText = Annotated[str, AfterValidator(_lines), Documented({"pattern": LINES})]
"""Text that may have several lines."""
Timestamp = Annotated[datetime, BeforeValidator(_timestamp)]
Uuid = Annotated[UUID, BeforeValidator(_uuid)]
Color = Annotated[Text, Documented({"pattern": "^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"}, AfterValidator(parse_color))]

TimestampText = Annotated[str, Documented({"format": "date-time"})]
IdText = Annotated[str, Documented({"format": "uuid"})]
"""A UUID in a response."""
UriText = Annotated[str, Documented({"format": "uri"})]
EmailText = Annotated[str, Documented({"format": "email"})]
MAX_URL = 2048
UrlText = Annotated[Text, max_characters(MAX_URL), Documented({"format": "uri"})]
"""A URL that is checked later."""

_MAX_MESSAGES = 100
"""For one field: thousands of wrong entries are neither all reported, nor do they hide problems of other fields."""

_MESSAGES = {
    "string_type": "This must be a string.",
    "int_type": "This must be an integer.",
    "int_parsing": "This must be an integer.",
    "bool_type": "This must be true or false.",
    "list_type": "This must be a list.",
    "dict_type": "This must be an object.",
    "model_type": "This must be an object.",
    # files are the only class whose instances a body can contain
    "is_instance_of": "This must be a file: send it as a multipart/form-data part with a filename.",
    "missing": REQUIRED,
    "string_too_long": "This must have at most {max_length:,} characters.",
    "string_too_short": "This must have at least {min_length} characters.",
    "string_unicode": "This must be valid Unicode text.",
    "too_long": "This must have at most {max_length:,} entries.",
    "too_short": "This must have at least {min_length} entries.",
    "literal_error": "This must be one of: {expected}.",
    "extra_forbidden": "There is no field of this name. Check its spelling.",
    "greater_than_equal": "This must be at least {ge}.",
    "less_than_equal": "This must be at most {le:,}.",
}


def parse(model: type[M], fields: Mapping[str, Any]) -> tuple[M, Problems]:
    """Return the model of all valid fields, and the problems of the others. The model's fields need defaults."""
    if unreadable := {name: [str(value)] for name, value in fields.items() if isinstance(value, Unreadable)}:
        parsed, problems = parse(model, {name: value for name, value in fields.items() if name not in unreadable})
        problems.errors |= unreadable
        return parsed, problems
    try:
        return model.model_validate(fields), Problems()
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
    failed = {detail["loc"][0] for detail in details}
    kept = {name: value for name, value in fields.items() if name not in failed}
    return model.model_validate(kept), _problems(details)


def _problems(details: list[ErrorDetails]) -> Problems:
    problems, seen = Problems(), Counter[int | str]()
    for detail in details:
        seen[detail["loc"][0]] += 1
        if seen[detail["loc"][0]] <= _MAX_MESSAGES:
            problems.add(".".join(str(part) for part in detail["loc"] if part != "[key]"), problem_message(detail))
    return problems


def problem_message(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "value_error":  # raised by a validator above or of the model itself
        return str(context["error"])
    if kind == "literal_error":
        context = {"expected": context["expected"].replace("'", "").replace(" or ", ", ")}
    if kind in {"too_long", "too_short"} and context["field_type"] == "Value":  # text that was checked before
        kind = f"string_{kind}"
    return _MESSAGES.get(kind, "This is not valid.").format(**context)
