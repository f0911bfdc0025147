"""Writes the modules with the types: `models` of what is returned, `inputs` of what is sent."""

import re
from collections.abc import Iterable, Iterator
from textwrap import fill, indent

from clients.python.generator.document import Document, Schema, python_name, referred

HEADER = "# Made from the OpenAPI document by `python -m clients.python.generator`; do not edit.\n"
_ETAG = "The version that was read, for `if_match`. None in lists, and after a creation."
_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict[str, Any]"}
_FORMATS = {"date-time": "datetime | str", "binary": "File"}
"""Types of arguments."""


def models(document: Document) -> str:
    """Return the module of results and events."""
    events = document.events()
    names = model_names(document)
    classes = [name for name in names if "enum" not in document.schemas[name] and name not in events.values()]
    by_type = ", ".join(f'"{kind}": {name}' for kind, name in events.items())
    return "\n\n".join(
        [
            f'{HEADER}"""What the service returns, and the events that webhooks receive."""',
            "from __future__ import annotations\n",
            "from collections.abc import Mapping\nfrom dataclasses import dataclass\nfrom datetime import datetime",
            "from typing import Any, ClassVar, Literal, TypeAlias\n",
            "from waypost_client._values import new, read_many, read_optional, read_time\n",
            *_enums(document, names),
            *(_model(document, name) for name in classes),
            _EVENT,
            *(_event(document, name, kind) for kind, name in events.items()),
            f'EVENTS: Mapping[str, type[Event]] = {{{by_type}}}\n"""Classes of events by type."""\n',
        ]
    )


def inputs(document: Document) -> str:
    """Return the module of what is within a request: dictionaries, for which results may be given as well."""
    names = input_names(document)
    return "\n\n".join(
        [
            f'{HEADER}"""What is within a request, and the values of its parameters."""',
            "from __future__ import annotations\n",
            "from collections.abc import Sequence\nfrom datetime import datetime",
            "from typing import Any, Literal, TypeAlias, TypedDict\n",
            f"from waypost_client.models import {', '.join(model_names(document))}\n",
            *_enums(document, names),
            *(_input(document, name) for name in names if "enum" not in document.schemas[name]),
            "",
        ]
    )


def model_names(document: Document) -> list[str]:
    """Return the names of the types of what is returned."""
    answers = {each.answer for each in document.operations() if each.answer}
    reachable = document.reachable(answers | set(document.events().values()))
    return sorted(name for name in reachable if _is_written(document, name))


def input_names(document: Document) -> list[str]:
    """Return the names of the types that only requests have. Bodies are arguments, unless they are part of others."""
    operations = [each for each in document.operations() if each.needs_key]
    bodies = {each.body for each in operations if each.body}
    queries = {name for each in operations for one in each.parameters if (name := referred(one["schema"]))}
    inner = {name for body in bodies for name in document.reachable({body}) - {body}}
    returned = model_names(document)
    return sorted(name for name in inner | queries if _is_written(document, name) and name not in returned)


def counterpart(document: Document, name: str) -> str | None:
    """Return the result that may be sent in place of an input: `Rule` for `RuleInput`."""
    other = name.removesuffix("Input")
    return other if other != name and other in document.schemas else None


def _is_written(document: Document, name: str) -> bool:
    """Wrappers of one value have no class; pages have one for all."""
    schema = document.schemas[name]
    wrappers = {"data"}, {"data", "links", "meta"}
    return "enum" in schema or (
        "properties" in schema and set(schema["properties"]) not in wrappers and name != "PageLinks"
    )


def _enums(document: Document, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        schema = document.schemas[name]
        if "enum" in schema:
            yield f"{name}: TypeAlias = Literal{schema['enum']!r}\n{_doc(schema['description'])}"


def _doc(text: str) -> str:
    return f'"""{fill(sentence(text), 110)}"""'


def sentence(text: str) -> str:
    """Return a description as the documentation of Python code writes it."""
    return re.sub(r"\bnull(s?)\b", r"None\1", text).removesuffix(".") + "."


def _model(document: Document, name: str) -> str:
    schema = document.schemas[name]
    fields = {field: (each, field in schema.get("required", ())) for field, each in schema["properties"].items()}
    # fields that may be missing come last, because they have a default
    ordered = sorted(fields.items(), key=lambda each: not each[1][1])
    lines = ["@dataclass(frozen=True)", f"class {name}:"]
    for field, (each, is_required) in ordered:
        kind = result_type(document, each)
        optional = kind if is_required else f"{kind.removesuffix(' | None')} | None = None"
        lines += [f"    {python_name(field)}: {optional}", indent(_doc(each["description"]), "    ")]
    if name in document.tagged():
        lines += ["    etag: ClassVar[str | None] = None", indent(_doc(_ETAG), "    ")]
    lines += ["", "    @classmethod", f"    def from_json(cls, data: Any) -> {name}:"]
    lines += ["        get = data.get", "        return new(", "            cls,"]
    for field, (each, is_required) in ordered:
        lines.append(f"            {python_name(field)}={_read(document, each, field, is_required=is_required)},")
    return "\n".join([*lines, "        )"])


_EVENT = '''@dataclass(frozen=True)
class Event:
    """What a webhook receives. An event of a type that is unknown here has this class, and a dictionary as data."""

    id: str
    """ID of the delivery: the same in each attempt, another for each webhook."""
    api_version: str
    """Version of the format."""
    event: str
    """Event type, such as `link.created`."""
    created_at: datetime
    """Time of the event, in UTC."""
    data: Any
    """What happened."""

    @classmethod
    def from_json(cls, data: Any) -> Event:
        created_at = read_time(data["created_at"])
        return cls(data["id"], data["api_version"], data["event"], created_at, cls._read(data["data"]))

    @staticmethod
    def _read(data: Any) -> Any:
        return data'''


def _event(document: Document, name: str, kind: str) -> str:
    data = referred(document.schemas[name]["properties"]["data"])
    description = document.content["webhooks"][kind]["post"]["description"].split(". ")[0]
    return f'''@dataclass(frozen=True)
class {name}(Event):
    """`{kind}`: {description.removesuffix(".")}."""

    data: {data}

    @staticmethod
    def _read(data: Any) -> {data}:
        return {data}.from_json(data)'''


def result_type(document: Document, schema: Schema) -> str:  # noqa: PLR0911  # one for each kind
    if "anyOf" in schema:
        return f"{result_type(document, schema['anyOf'][0])} | None"
    if name := referred(schema):
        if "enum" in document.schemas[name]:
            return f"{name} | str"  # a newer service may have more values
        return name if document.has_fields(name) else result_type(document, document.schemas[name])
    kinds = _kinds(schema)
    suffix = " | None" if "null" in kinds else ""
    if kinds[:2] == ["string", "array"]:
        return f"str | {result_type(document, {**schema, 'type': kinds[1:]})}"
    if kinds[0] == "array":
        inner = result_type(document, schema["items"]) if schema.get("items") else "Any"
        return f"list[{inner}]{suffix}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"dict[str, {result_type(document, schema['additionalProperties'])}]{suffix}"
    return ("datetime" if schema.get("format") == "date-time" else _SIMPLE[kinds[0]]) + suffix


def _read(document: Document, schema: Schema, field: str, *, is_required: bool) -> str:
    value = f'get("{field}")'
    is_nullable = "anyOf" in schema
    plain = schema["anyOf"][0] if is_nullable else schema
    name = referred(plain)
    if name and document.has_fields(name):
        if is_nullable or not is_required:
            return f"read_optional({name}.from_json, {value})"
        return f"{name}.from_json({value} or {{}})"
    if plain.get("format") == "date-time":
        return f"read_time({value})"
    inner = referred(plain.get("items") or {})
    if inner and document.has_fields(inner):
        return f"read_many({inner}.from_json, {value})"
    return value


def _kinds(schema: Schema) -> list[str]:
    kinds = schema["type"]
    return kinds if isinstance(kinds, list) else [kinds]


def input_type(document: Document, schema: Schema) -> str:
    if "anyOf" in schema:
        return f"{input_type(document, schema['anyOf'][0])} | None"
    if name := referred(schema):
        other = counterpart(document, name)
        return f"{other} | {name}" if other else name
    kinds = _kinds(schema)
    suffix = " | None" if "null" in kinds else ""
    if kinds[:2] == ["string", "array"]:
        return f"str | {input_type(document, {**schema, 'type': kinds[1:]})}"
    if kinds[0] == "array":
        inner = input_type(document, schema["items"]) if schema.get("items") else "Any"
        return f"Sequence[{inner}]{suffix}"
    return _FORMATS.get(schema.get("format", ""), _SIMPLE[kinds[0]]) + suffix


def _input(document: Document, name: str) -> str:
    """Write a required part and an optional one: Python 3.10 has no NotRequired."""
    schema = document.schemas[name]
    required = [field for field in schema["properties"] if field in schema.get("required", ())]
    optional = [field for field in schema["properties"] if field not in required]
    text = ""
    if optional:
        inner = f"_{name}Fields" if required else name
        text = _typed_dict(document, inner, optional, "total=False")
    if required:
        text += ("\n\n" if text else "") + _typed_dict(document, name, required, f"_{name}Fields" if optional else "")
    return text


def _typed_dict(document: Document, name: str, fields: list[str], rest: str) -> str:
    properties = document.schemas[name.removeprefix("_").removesuffix("Fields")]["properties"]
    types = {field: input_type(document, properties[field]) for field in fields}
    if any(python_name(field) != field for field in fields):
        entries = "".join(f'"{field}": "{kind}",' for field, kind in types.items())
        return f'{name} = TypedDict("{name}", {{{entries}}}, {rest})'
    bases = ["TypedDict", rest] if not rest.startswith("_") else [rest]
    lines = [f"class {name}({', '.join(each for each in bases if each)}):"]
    for field, kind in types.items():
        lines += [f"    {field}: {kind}", indent(_doc(properties[field]["description"]), "    ")]
    return "\n".join(lines)
