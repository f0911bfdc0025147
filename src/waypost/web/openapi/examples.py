"""Examples of objects, which consist of those of their fields."""

from typing import Any

from waypost.web.openapi.parameters import Schema

_EMPTY: tuple[Any, ...] = (None, [], {}, "")


def compose(schemas: Schema, name: str) -> Any:
    """Return the example of the schema with this name."""
    schema = schemas[name]
    if "examples" in schema:
        return schema["examples"][0]
    values = {field: _value(schemas, inner) for field, inner in schema.get("properties", {}).items()}
    return {field: value for field, value in values.items() if value is not None or field in schema["required"]}


def spread(schemas: Schema, name: str, example: Any) -> None:
    """Give the example to the schema with this name, and what is in it to the schemas of its fields."""
    schema = schemas[name]
    schema.setdefault("examples", [example])
    for key, field in schema.get("properties", {}).items():
        value, inner = example.get(key), referred(field)
        for entry in value if isinstance(value, list) else [value]:
            if inner and isinstance(entry, dict):
                spread(schemas, inner, entry)


def show(schema: Schema) -> None:
    """Let each field of an object have one example with content."""
    (whole,) = schema.get("examples", [{}])
    for key, field in schema.get("properties", {}).items():
        examples = [example for example in (whole.get(key), *field.pop("examples", ())) if example not in _EMPTY]
        if examples and referred(field) is None:
            field["examples"] = examples[:1]


def referred(schema: Schema) -> str | None:
    """Return the name of the schema of the value, or of the entries of a list."""
    options = [schema, schema.get("items", {}), *schema.get("anyOf", ())]
    return next((each["$ref"].rpartition("/")[2] for each in options if "$ref" in each), None)


def _value(schemas: Schema, field: Schema) -> Any:
    """Return the example of a field. The example of an object leaves out None for a field that is not required."""
    examples, name = field.get("examples", []), referred(field)
    if name and "items" in field and not any(isinstance(example, list) for example in examples):
        return [compose(schemas, name), *examples]
    if examples:
        return examples[0]
    return compose(schemas, name) if name and not schemas[name].get("additionalProperties") else None
