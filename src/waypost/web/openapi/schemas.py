"""The named schemas of the OpenAPI document, made from the models of what is sent and returned."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Literal

from pydantic import TypeAdapter

from waypost.kit.fields import Body
from waypost.web.endpoint import EventDocs
from waypost.web.openapi.descriptions import ENUMS
from waypost.web.openapi.examples import compose, show, spread
from waypost.web.openapi.names import enum_names, event_name, input_name, is_wrapper, pascal_case, schema_name
from waypost.web.openapi.parameters import Schema

NULL: Schema = {"type": "null"}
_FILE = {"type": "string", "format": "binary"}
_TEXTS = ("description", "examples", "deprecated")
_COMPONENTS = "#/components/schemas/"
_INPUTS_WITHOUT_NULL = ("Create", "Input", "Style")
"""Null means the same as leaving a field out. Scalar refuses it for values with a name, within lists of objects."""
_INPUTS = (*_INPUTS_WITHOUT_NULL, "Update", "Upsert", "Set", "Form")
_MODE: Literal["validation", "serialization"] = "serialization"


def reference(name: str) -> Schema:
    return {"$ref": _COMPONENTS + name}


class Schemas:
    """Schemas by name. Each object and each list of values has one, and others refer to it."""

    def __init__(self, answers: Collection[Any], events: Iterable[EventDocs], modules: Iterable[Any]) -> None:
        """`answers`: models of what is returned. `modules`: their modules name enums, too."""
        self.named: dict[str, Schema] = {}
        models = list(dict.fromkeys([*answers, *(event.model for event in events)]))
        self._enums = enum_names([*models, *modules])
        adapters = [(model, _MODE, TypeAdapter[Any](model)) for model in models]
        references, definitions = TypeAdapter.json_schemas(adapters, ref_template="{model}")
        self._names = {model: references[model, _MODE]["$ref"] for model in models}
        of_events = {self._names[event.model]: event for event in events}
        for name, schema in definitions["$defs"].items():
            if name not in of_events:
                self._add(schema_name(name), schema)
        for name in definitions["$defs"]:
            answer = schema_name(name)
            if not is_wrapper(name) and "properties" in self.named.get(answer, {}):
                spread(self.named, answer, self.example(answer))
        for name, event in of_events.items():
            self._add_event(event, definitions["$defs"][name])

    def answer(self, model: Any) -> str:
        """Return the name of the schema of what is returned."""
        return schema_name(self._names[model])

    def finished(self) -> Schema:
        """Return the schemas, sorted and with examples."""
        for schema in self.named.values():
            show(schema)
        return dict(sorted(self.named.items()))

    def body(self, model: type[Body]) -> str:
        """Return the name of the schema of a JSON body."""
        name = input_name(model.__name__)
        if name not in self.named:
            fields = {field: schema for field, schema in body_fields(model).items() if not _is_file(schema)}
            for field, nested in model.NESTED.items():
                entry = reference(self.body(nested))
                fields[field] |= {"items": entry} if "items" in fields[field] else entry
            never_null = {*model.REQUIRED, *model.NOT_NULL}
            as_json = {
                field: schema if field in never_null else {**schema, "anyOf": [_without(schema, _TEXTS), NULL]}
                for field, schema in fields.items()
            }
            schema = object_schema(as_json, model.REQUIRED)
            if model.model_config.get("extra") == "forbid":
                schema["additionalProperties"] = False
            self._add(name, schema)
            if model.EXAMPLE:
                spread(self.named, name, model.EXAMPLE)
        return name

    def form(self, model: type[Body]) -> str:
        """Return the name of the schema of a multipart body."""
        name = f"{input_name(model.__name__)}Form"
        if name not in self.named:
            fields = ((field, schema) for field, schema in body_fields(model).items() if "$ref" not in schema)
            in_form = dict(form_field for field, schema in fields for form_field in _form_fields(field, schema))
            self._add(name, object_schema(in_form, model.REQUIRED))
        return name

    def value(self, schema: Schema, name: str = "", *, is_input: bool = False) -> Schema:
        """Return the schema of a value, with a reference in place of what has a name. `name`: of its property."""
        if "anyOf" in schema:
            (option,) = [option for option in schema["anyOf"] if option != NULL]
            return or_null(self.value(option, name, is_input=is_input))
        schema = _without(schema, ("title", "default"))
        if "$ref" in schema:
            return reference(schema_name(schema["$ref"].removeprefix(_COMPONENTS)))
        if "enum" in schema:
            return self._enum(schema["enum"])
        if "items" in schema:
            return {**schema, "items": self.value(schema["items"], is_input=is_input)}
        if isinstance(schema.get("additionalProperties"), dict):
            named = schema_name(pascal_case(name)) + ("Input" if is_input else "")
            self._add(named, _with_known_names(schema))
            return reference(named)
        return schema

    def example(self, name: str) -> Any:
        """Return the example of a schema."""
        return compose(self.named, name)

    def _add(self, name: str, schema: Schema) -> None:
        if "properties" in schema:
            fields = {key: self._property(name, key, field) for key, field in schema["properties"].items()}
            schema = {**schema, "properties": fields}
        self.named[name] = _without(schema, ("title", "description"))

    def _add_event(self, event: EventDocs, schema: Schema) -> None:
        name = event_name(event.type)
        self._add(name, schema)
        self.named[name]["properties"]["event"] |= {"const": event.type, "examples": [event.type]}
        example = self.example(name)
        spread(self.named, name, {**example, "data": {**example["data"], **event.changes}})

    def _property(self, owner: str, name: str, schema: Schema) -> Schema:
        described = self.value(_without(schema, _TEXTS), name, is_input=owner.endswith(_INPUTS))
        if "anyOf" in described and owner.endswith(_INPUTS_WITHOUT_NULL):
            described = described["anyOf"][0]
        return described | {keyword: schema[keyword] for keyword in _TEXTS if keyword in schema}

    def _enum(self, values: list[Any]) -> Schema:
        name = self._enums[tuple(values)]
        self.named[name] = {"type": "string", "description": ENUMS[name], "enum": values, "examples": values[:1]}
        return reference(name)


def object_schema(properties: Schema, required: Collection[str]) -> Schema:
    return {"type": "object", "properties": properties} | ({"required": list(required)} if required else {})


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, NULL]} if "$ref" in schema else {**schema, "type": [*types_of(schema), "null"]}


def types_of(schema: Schema) -> list[str]:
    return schema["type"] if isinstance(schema["type"], list) else [schema["type"]]


def body_fields(model: type[Body]) -> dict[str, Schema]:
    """Return the schemas of the fields without null: every field of a body may be left out."""
    return {name: _without_null(field) for name, field in model.model_json_schema()["properties"].items()}


def has_file(model: type[Body]) -> bool:
    return any(map(_is_file, body_fields(model).values()))


def is_file(model: type[Body]) -> bool:
    """Return whether the body is a file and nothing else."""
    return all(map(_is_file, body_fields(model).values()))


def _is_file(schema: Schema) -> bool:
    return schema.get("format") == _FILE["format"]


def _without(schema: Schema, keywords: Collection[str]) -> Schema:
    return {keyword: value for keyword, value in schema.items() if keyword not in keywords}


def _without_null(field: Schema) -> Schema:
    (schema,) = [option for option in field["anyOf"] if option != NULL]
    plain = _FILE if schema.get("$ref", "").endswith("/Upload") else schema
    return plain | {keyword: field[keyword] for keyword in _TEXTS if keyword in field}


def _form_fields(name: str, field: Schema) -> Iterator[tuple[str, Schema]]:
    """Name nested values as PHP forms do. Empty text means null."""
    if field["type"] == "array":
        yield f"{name}[]", field
    elif field["type"] == "object":
        for key, text in field["properties"].items():
            yield f"{name}[{key}]", {**_without_null(field["additionalProperties"]), **text}
    else:
        yield name, field


def _with_known_names(schema: Schema) -> Schema:
    """Return an object with a property for each of its names, if these are known."""
    if "propertyNames" not in schema:
        return schema
    names, value = schema["propertyNames"]["enum"], schema["additionalProperties"]
    texts = schema.get("properties", {})
    properties = {name: value | texts.get(name, {}) for name in names}
    return {**object_schema(properties, ()), "additionalProperties": False}
