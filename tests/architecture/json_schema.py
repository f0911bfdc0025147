"""Whether a value is what a JSON schema of the OpenAPI document says. A keyword it does not know is an error."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

TYPES = {
    "null": type(None),
    "boolean": bool,
    "integer": int,
    "number": float,
    "string": str,
    "array": list,
    "object": dict,
}
ANNOTATIONS = {"title", "description", "default", "writeOnly", "examples"}


def _uri(text: str) -> None:
    parts = urlsplit(text)
    if not (parts.scheme and parts.netloc and text.isascii()) or " " in text:
        raise ValueError(text)


def _email(text: str) -> None:
    if not re.fullmatch(r"[^@\s]+@[^@\s]+", text):
        raise ValueError(text)


MAXIMA = ("maxLength", "maximum", "maxItems", "maxProperties")
FORMATS = {"uuid": UUID, "date-time": datetime.fromisoformat, "binary": str, "uri": _uri, "email": _email}


def problems(document: dict[str, Any], schema: dict[str, Any], value: Any, at: str = "$") -> Iterator[str]:
    """An object may have only documented members."""
    if "$ref" in schema:
        yield from problems(document, resolved(document, schema["$ref"]), value, at)
        return
    if isinstance(schema.get("type"), list):
        *types, null = schema["type"] if "null" in schema["type"] else [*schema["type"], None]
        if value is None and null:
            return
        if types == ["string", "array"]:
            types = ["array" if isinstance(value, list) else "string"]
            unused = {"array": {"pattern"}, "string": {"items", "minItems", "maxItems"}}[types[0]]
            schema = {name: rule for name, rule in schema.items() if name not in unused}
        schema = schema | {"type": types[0]}
    for keyword in schema.keys() - ANNOTATIONS:
        yield from CHECKS[keyword](document, schema, value, at)


def resolved(document: dict[str, Any], reference: str) -> Any:
    found: Any = document
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return found


def _type(_document: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    if type(value) is not TYPES[schema["type"]]:
        yield f"{at}: {value!r} is no {schema['type']}"


def _enum(_document: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    if value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"


def _const(_document: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    if value != schema["const"]:
        yield f"{at}: {value!r} is not {schema['const']!r}"


def _any_of(document: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    found = [list(problems(document, each, value, at)) for each in schema["anyOf"]]
    if all(found):
        yield from found[0]


def _members(document: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    reported, more = schema.get("properties", {}), schema.get("additionalProperties")
    for name, member in value.items() if isinstance(value, dict) else ():
        if more is True and name not in reported:
            continue
        if name in reported or more:
            yield from problems(document, reported.get(name, more), member, f"{at}.{name}")
        else:
            yield f"{at}: not documented: {name}"


def _required(_document: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    yield from (f"{at}: {name} is missing" for name in set(schema["required"]) - set(value))


def _items(document: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        yield from problems(document, schema["items"], item, f"{at}.{index}")


def _names(document: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    for name in value if isinstance(value, dict) else ():
        yield from problems(document, schema["propertyNames"], name, f"{at}: {name}")


def _format(_document: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    try:
        FORMATS[schema["format"]](value)
    except (ValueError, TypeError, AttributeError):
        yield f"{at}: {value!r} is no {schema['format']}"


def _limits(_document: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    size = value if isinstance(value, int | float) else len(value or "")
    low = next((schema[name] for name in ("minLength", "minimum", "minItems") if name in schema), 0)
    high = next(
        (schema[name] for name in ("maxLength", "maximum", "maxItems", "maxProperties") if name in schema), size
    )
    if not low <= size <= high:
        yield f"{at}: {size} is not from {low} to {high}"


def _pattern(_document: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    pattern = re.sub(r"\$$", r"\\Z", schema["pattern"])  # Python's own `$` also matches before a last line break
    if not (isinstance(value, str) and re.search(pattern, value)):
        yield f"{at}: {value!r} does not match"


CHECKS = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "anyOf": _any_of,
    "properties": _members,
    "additionalProperties": _members,
    "required": _required,
    "items": _items,
    "propertyNames": _names,
    "format": _format,
    "pattern": _pattern,
    **dict.fromkeys(("minLength", "minItems", "minimum", *MAXIMA), _limits),
}
