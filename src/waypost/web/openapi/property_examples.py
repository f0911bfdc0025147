"""Gives each property an example: from that of the object it is in, or one of its own."""

import re
from collections.abc import Mapping
from typing import Any

from waypost.web.openapi.examples import VALUES
from waypost.web.openapi.parameters import Schema

_FORM_FIELD = re.compile(r"(\w+)\[(\w*)\]")


def add_examples(schemas: Schema, examples: Mapping[str, Any]) -> None:
    """`examples`: of some of the schemas, by name. Objects within them are examples of theirs."""
    for name, example in examples.items():
        _add(schemas, name, example)
    for name, schema in schemas.items():
        for field, each in schema.get("properties", {}).items():
            title = field_name(field)
            own = VALUES.get(f"{name}.{title}", VALUES.get(title))
            if own is not None and _referred(each) is None:
                each.setdefault("examples", [[own] if field.endswith("[]") and not isinstance(own, list) else own])


def field_name(name: str) -> str:
    """Return the name of a field without the brackets that it has in forms."""
    nested = _FORM_FIELD.fullmatch(name)
    return (nested[2] or nested[1]) if nested else name


def _add(schemas: Schema, name: str, example: Any) -> None:
    schema = schemas[name]
    schema.setdefault("examples", [example])
    for field, each in schema.get("properties", {}).items():
        value = example.get(field)
        if value in (None, [], {}, ""):
            continue
        referred = _referred(each)
        if referred is None:
            each.setdefault("examples", [value])
        for entry in value if isinstance(value, list) else [value]:
            if referred and isinstance(entry, dict):
                _add(schemas, referred, entry)


def _referred(schema: Schema) -> str | None:
    """Return the name of the schema of the value, or of the entries of a list."""
    found = [schema, schema.get("items", {}), *schema.get("anyOf", ())]
    return next((each["$ref"].rpartition("/")[2] for each in found if "$ref" in each), None)
