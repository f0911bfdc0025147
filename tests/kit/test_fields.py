from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import Field, InstanceOf

from waypost.kit.fields import Body, LongText, Text, Timestamp, Upload, Uuid, parse

NO_UNICODE = (
    "This is not valid Unicode: it contains an unpaired surrogate, half of a character. Send both halves or neither."
)
NO_FILE = "This must be a file: send it as a multipart/form-data part with a filename."
ID = UUID("01a1fbb0-9c64-766d-a0c1-63dfc9473774")


class Utm(Body):
    utm_source: Annotated[Text, Field(max_length=5)] | None = None


class Thing(Body):
    title: Annotated[Text, Field(max_length=5)] | None = None
    about: LongText | None = None
    tags: list[Annotated[Text, Field(max_length=5)]] | None = None
    utm_params: Utm | None = None
    extra: dict[Text, Text] | None = None
    expires_at: Timestamp | None = None
    pixel_ids: list[Uuid] | None = None
    status: Literal["active", "inactive"] | None = None
    file: InstanceOf[Upload] | None = None
    size: int | None = None
    is_on: bool | None = None


def problems(**fields: Any) -> dict[str, list[str]]:
    return parse(Thing, fields)[1].errors


def test_parses_valid_fields() -> None:
    thing, wrong = parse(Thing, {"title": "é", "expires_at": "2030-01-01T00:00:00", "pixel_ids": [str(ID)], "other": 1})
    assert not wrong
    assert (thing.title, thing.pixel_ids) == ("é", [ID])
    assert thing.expires_at == datetime(2030, 1, 1, tzinfo=UTC)
    assert thing.model_fields_set == {"title", "expires_at", "pixel_ids"}


def test_distinguishes_omitted_from_null() -> None:
    thing, _ = parse(Thing, {"title": None})
    assert thing.title is None
    assert thing.model_fields_set == {"title"}


def test_keeps_valid_fields_beside_invalid_ones() -> None:
    thing, wrong = parse(Thing, {"title": "right", "tags": ["x", 5, "longer than five"], "status": "on"})
    assert thing.model_fields_set == {"title"}
    assert wrong.errors == {
        "tags.1": ["This must be a string."],
        "tags.2": ["This must have at most 5 characters."],
        "status": ["This must be one of: active, inactive."],
    }


@pytest.mark.parametrize(
    ("field", "value", "key", "message"),
    [
        ("title", 5, "title", "This must be a string."),
        ("title", b"x", "title", "This must be a string."),
        ("title", ["x"], "title", "This must be a string."),
        ("title", "a\0", "title", "This must not contain control characters."),
        ("title", "a\n", "title", "This must not contain control characters."),
        ("title", "\ud800", "title", NO_UNICODE),
        ("about", "a\udc00", "about", NO_UNICODE),
        ("about", "a\0", "about", "This must not contain control characters other than line breaks and tabs."),
        ("tags", "x", "tags", "This must be a list."),
        ("tags", [None], "tags.0", "This must be a string."),
        ("utm_params", [], "utm_params", "This must be an object."),
        ("utm_params", {"utm_source": 5}, "utm_params.utm_source", "This must be a string."),
        ("extra", {"a": 5}, "extra.a", "This must be a string."),
        ("extra", {"\0": "x"}, "extra.\0", "This must not contain control characters."),
        (
            "expires_at",
            5,
            "expires_at",
            "This must be a date and time in ISO 8601 format, such as 2030-01-31T12:00:00Z.",
        ),
        (
            "expires_at",
            "soon",
            "expires_at",
            "This must be a date and time in ISO 8601 format, such as 2030-01-31T12:00:00Z.",
        ),
        ("pixel_ids", ["x"], "pixel_ids.0", "This must be a UUID."),
        ("pixel_ids", [ID.hex], "pixel_ids.0", "This must be a UUID."),
        ("file", "x", "file", NO_FILE),
        ("file", {"filename": "x", "content_type": "y", "content": b""}, "file", NO_FILE),
        ("size", "5", "size", "This must be an integer."),
        ("size", 5.0, "size", "This must be an integer."),
        ("is_on", 1, "is_on", "This must be true or false."),
    ],
)
def test_reports_plain_messages_and_converts_nothing(field: str, value: Any, key: str, message: str) -> None:
    assert problems(**{field: value}) == {key: [message]}


def test_long_text_accepts_line_breaks() -> None:
    assert not problems(about="a\n\tb\r\nc")


def test_limits_the_messages_of_one_field() -> None:
    reported = problems(tags=[5] * 1_000, title=5)
    assert (len(reported), reported["title"]) == (101, ["This must be a string."])
