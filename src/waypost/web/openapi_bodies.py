"""A request's body for the OpenAPI document, from the pydantic model that reads it: as JSON and as a multipart form."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

Json = dict[str, Any]

_FILE = {"type": "string", "format": "binary"}


def request_body(
    model: type[BaseModel],
    *,
    details: Mapping[str, Json],
    required: Collection[str] = (),
    never_null: Collection[str] = (),
    example: Json | None = None,
) -> Json:
    """`details`: by field, what the model checks in functions, which no schema can be made of."""
    fields = {name: _plain(field) | details.get(name, {}) for name, field in _properties(model)}
    as_json = {
        name: field if name in never_null else {"anyOf": [field, {"type": "null"}]}
        for name, field in fields.items()
        if field != _FILE
    }
    as_form = {name: field for each in fields for name, field in _form_fields(each, fields[each])}
    kinds = {"application/json": as_json, "multipart/form-data": as_form}
    content: Json = {kind: {"schema": _object(properties, required)} for kind, properties in kinds.items()}
    if example:
        content["application/json"]["example"] = example
    return {"required": True, "content": content}  # one that changes nothing is still an object


def _properties(model: type[BaseModel]) -> Iterator[tuple[str, Json]]:
    yield from model.model_json_schema()["properties"].items()


def _plain(field: Json) -> Json:
    """Without null and its default: every field of a body may be left out."""
    (schema,) = [each for each in field["anyOf"] if each != {"type": "null"}]
    return _FILE if "$ref" in schema else schema


def _form_fields(name: str, field: Json) -> Iterator[tuple[str, Json]]:
    """Nested values are named as PHP and browsers name them; an empty text stands for null."""
    if field["type"] == "array":
        yield f"{name}[]", field
    elif field["type"] == "object":
        for key in field["propertyNames"]["enum"]:
            yield f"{name}[{key}]", _plain(field["additionalProperties"])
    else:
        yield name, field


def _object(properties: Json, required: Collection[str]) -> Json:
    return {"type": "object", "properties": properties} | ({"required": sorted(required)} if required else {})
