"""Writes the modules with the methods, synchronous and asynchronous."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from textwrap import fill, indent

from clients.python.generator.document import Document, Operation, Schema, class_name, python_name, referred
from clients.python.generator.types import HEADER, input_names, input_type, model_names, sentence

_WIDTH = 100
_LIST_OPTIONS = {"page": "First page to read", "per_page": "Objects in each page; default: 100, the maximum"}
_KEY = "Header `Idempotency-Key`, to repeat a call in another process; default: a new one for each call"
_IF_MATCH = "`etag` of the object that was read: if it has changed since, a WaypostError with the status 412 is raised"
_IMAGE = '''
    {define} image(self, url: str) -> bytes:
        """Return the image at a signed URL: `image_url`, `svg_url` or `pdf_url` of a QR code."""
        return {wait}self._sender.download(url)'''


@dataclass(frozen=True)
class Argument:
    name: str
    kind: str
    description: str
    default: str = ""

    @property
    def text(self) -> str:
        return f"{self.name}: {self.kind}" + (f" = {self.default}" if self.default else "")


def resources(document: Document, *, is_async: bool) -> str:
    """Return the module with one class for each group of operations."""
    prefix = "Async" if is_async else ""
    head = [
        f'{HEADER}"""The methods of `{prefix}Waypost`."""\n\nfrom __future__ import annotations\n',
        "import builtins\nfrom collections.abc import Sequence",
        "from datetime import datetime\nfrom typing import Any\n",
        f"from waypost_client._sender import {prefix}Sender",
        "from waypost_client._values import OMITTED, File, Omitted, path_of",
        f"from waypost_client.inputs import {', '.join(input_names(document))}",
        f"from waypost_client.models import {', '.join(model_names(document))}",
        f"from waypost_client.pages import {prefix}Pages",
    ]
    classes = [
        _resource(document, group, list(each), prefix)
        for group, each in groupby(document.operations(), lambda each: each.group)
    ]
    return "\n".join(head) + "\n\n" + "\n\n".join(classes) + "\n"


def _resource(document: Document, group: str, operations: list[Operation], prefix: str) -> str:
    lines = [f"class {class_name(group)}:", f"    def __init__(self, sender: {prefix}Sender) -> None:"]
    lines.append("        self._sender = sender")
    for operation in operations:
        if operation.needs_key:
            lines += ["", indent("\n".join(_method(document, operation, is_async=bool(prefix))), "    ")]
        else:
            words = ("async def", "await ") if prefix else ("def", "")
            lines.append(_IMAGE.format(define=words[0], wait=words[1]))
    return "\n".join(lines)


def _method(document: Document, operation: Operation, *, is_async: bool) -> Iterator[str]:
    kind, read, is_list = _result(document, operation, is_async=is_async)
    first, named = _arguments(document, operation)
    signature = ["self", *(each.text for each in first), *(["*"] if named else []), *(each.text for each in named)]
    define, wait = ("async def", "await ") if is_async and not is_list else ("def", "")
    yield f"{define} {operation.name}({', '.join(signature)}) -> {kind}:"
    yield indent(_docstring(operation, [*first, *named]), "    ")
    if operation.is_file:
        call = [f'"{operation.method}"', _path(operation)]
    else:
        call = [read, _path(operation)] if is_list else [read, f'"{operation.method}"', _path(operation)]
    if query := _query(operation):
        items = ", ".join(f'"{name}": {python_name(name)}' for name in query)
        call.append(f"{'query=' * (not is_list)}{{{items}}}")
    elif is_list:
        call.append("{}")
    if operation.body:
        fields = dict.fromkeys([*document.schemas[operation.body]["properties"], *_files(document, operation)])
        items = ", ".join(f'"{name}": {python_name(name)}' for name in fields)
        call.append(f"body={{{items}}}")
    if operation.takes_idempotency_key:
        call.append("idempotency_key=idempotency_key")
    if operation.takes_if_match:
        call.append("if_match=if_match")
    returned = "return " if kind != "None" else ""
    method = "pages" if is_list else "fetch_file" if operation.is_file else "send"
    yield f"    {returned}{wait}self._sender.{method}({', '.join(call)})"


def _result(document: Document, operation: Operation, *, is_async: bool) -> tuple[str, str, bool]:
    """Return the type, what reads the JSON, and whether it is a list of several pages."""
    if operation.is_file:
        return "bytes", "", False
    if operation.answer is None:
        return "None", "lambda _: None", False
    properties = document.schemas[operation.answer]["properties"]
    if set(properties) == {"data"}:
        data = properties["data"]
        if single := referred(data):
            return single, f'lambda payload: {single}.from_json(payload["data"])', False
        name = referred(data["items"]) or ""
        read = f'lambda payload: [{name}.from_json(each) for each in payload["data"]]'
        return f"builtins.list[{name}]", read, False
    if set(properties) == {"data", "links", "meta"}:
        name = referred(properties["data"]["items"]) or ""
        return f"{'Async' * is_async}Pages[{name}]", f"{name}.from_json", True
    return operation.answer, f"{operation.answer}.from_json", False


def _arguments(document: Document, operation: Operation) -> tuple[list[Argument], list[Argument]]:
    """Return those that may be given by position, and those that are named.

    IDs come first. The fields of a body are named, unless all are required.
    """
    first = [
        Argument(python_name(each["name"]), "str", each["description"])
        for each in operation.parameters
        if each["in"] == "path"
    ]
    named = [_parameter(document, each) for each in operation.parameters if each["in"] == "query"]
    if operation.body:
        schema = document.schemas[operation.body]
        fields = [_field(document, schema, name) for name in schema["properties"]]
        required = [each for each in fields if not each.default]
        optional = [each for each in fields if each.default]
        if operation.form != operation.body:
            optional += [
                Argument(name, "File | Omitted", description, "OMITTED")
                for name, description in _files(document, operation).items()
            ]
        if optional:
            named += [*required, *optional]
        else:
            first += required
    if operation.takes_idempotency_key:
        named.append(Argument("idempotency_key", "str | None", _KEY, "None"))
    if operation.takes_if_match:
        named.append(Argument("if_match", "str | None", _IF_MATCH, "None"))
    return first, named


def _parameter(document: Document, parameter: Schema) -> Argument:
    name = parameter["name"]
    kind = input_type(document, parameter["schema"])
    description: str = _LIST_OPTIONS.get(name, parameter["description"])
    return Argument(python_name(name), f"{kind} | None", description, "None")


def _field(document: Document, schema: Schema, name: str) -> Argument:
    field = schema["properties"][name]
    kind = input_type(document, field)
    if name in schema.get("required", ()):
        return Argument(python_name(name), kind, field["description"])
    kind = kind.removesuffix(" | None") + " | Omitted" + " | None" * kind.endswith(" | None")
    return Argument(python_name(name), kind, field["description"], "OMITTED")


def _files(document: Document, operation: Operation) -> dict[str, str]:
    """Return the descriptions of the fields that are files."""
    fields: Mapping[str, Schema] = document.schemas[operation.form]["properties"] if operation.form else {}
    return {name: field["description"] for name, field in fields.items() if field.get("format") == "binary"}


def _path(operation: Operation) -> str:
    parts = [part[1:-1] if part[0] == "{" else f'"{part}"' for part in operation.path.strip("/").split("/")]
    if all(part[0] == '"' for part in parts):
        return f'"{operation.path}"'
    return f"path_of({', '.join(parts)})"


def _query(operation: Operation) -> list[str]:
    return [each["name"] for each in operation.parameters if each["in"] == "query"]


def _docstring(operation: Operation, arguments: list[Argument]) -> str:
    paragraphs = [f"{operation.summary}."]
    if operation.description:
        paragraphs.append(fill(sentence(operation.description), _WIDTH))
    if arguments:
        lines = [
            fill(f"{each.name}: {sentence(each.description)}", _WIDTH, subsequent_indent="    ") for each in arguments
        ]
        paragraphs.append("Args:\n" + indent("\n".join(lines), "    "))
    text = "\n\n".join(paragraphs).replace("\\", "\\\\")
    return f'"""{text}\n"""' if "\n" in text else f'"""{text}"""'
