"""The files of the client that are made from the document."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clients.python.generator.document import Document, Operation, Schema, referred

PACKAGE = Path(__file__).parents[1]
NODE_MODULES = Path(sys.executable).parents[1] / "node" / "node_modules"
_HEADER = "// Made from the OpenAPI document by `python -m clients.typescript.generator`; do not edit.\n\n"
_TIME = "TimeInput"


def modules(document: Document) -> dict[str, str]:
    """Return the text of each file by its path in the package."""
    version = f'{_HEADER}/** The version, which is that of Waypost. */\nexport const VERSION = "{document.version}";\n'
    package = re.sub(r'("version": )"[^"]*"', rf'\1"{document.version}"', (PACKAGE / "package.json").read_text())
    return {"src/types.ts": types(document), "src/version.ts": version, "package.json": package}


def query_name(operation: Operation) -> str:
    """Return the name of the type of the parameters: `LinksListQuery`."""
    return "".join(word.capitalize() for word in f"{operation.group}_{operation.name}_query".split("_"))


def types(document: Document) -> str:
    """Return the module with a type for each schema that requests, responses and events need."""
    schemas = {name: _without_examples(schema) for name, schema in sorted(_schemas(document).items())}
    text = _openapi_typescript(schemas)
    events = " | ".join(sorted(document.events().values()))
    about = "/** What a webhook receives. A newer service may send events of other types. */"
    return f"{_HEADER}{_exported(text)}\n\n{about}\nexport type WebhookEvent = {events};\n"


def _schemas(document: Document) -> dict[str, Schema]:
    operations = [each for each in document.operations() if each.needs_key]
    answers = {each.answer for each in operations if each.answer} | set(document.events().values()) | {"ErrorCode"}
    outputs = {name for name in document.reachable(answers) if not _is_wrapper(name, document.schemas[name])}
    inputs = document.reachable({each.body for each in operations if each.body}) - outputs
    queries = {query_name(each): query for each in operations if (query := _query(each))}
    filters = {name for query in queries.values() for each in query["properties"].values() if (name := referred(each))}
    found = {name: document.schemas[name] for name in outputs | filters - {_TIME}}
    found |= {name: _with_times(document.schemas[name]) for name in inputs}
    time = {"type": "string", "description": "A time as text in ISO 8601, with a time zone, or as a `Date`"}
    return {**found, **queries, _TIME: time}


def _is_wrapper(name: str, schema: Schema) -> bool:
    """Wrappers are unpacked by the client, and pages have one type for all."""
    return set(schema.get("properties", ())) in ({"data"}, {"data", "links", "meta"}) or name == "PageLinks"


def _query(operation: Operation) -> Schema | None:
    parameters = [each for each in operation.parameters if each["in"] == "query"]
    properties = {each["name"]: {**_or_one(each["schema"]), "description": each["description"]} for each in parameters}
    summary = f"Parameters of the operation: {operation.summary}"
    return _with_times({"type": "object", "description": summary, "properties": properties}) if properties else None


def _or_one(schema: Schema) -> Schema:
    """Let a parameter with several values have one without a list."""
    return {"anyOf": [schema["items"], schema]} if "items" in schema else schema


def _with_times(schema: Schema) -> Schema:
    """Let requests have a `Date` where the document has a time."""
    properties = {}
    for name, field in schema.get("properties", {}).items():
        is_time = field.get("format") == "date-time" or name in {"from", "to"}
        time: Schema = {"$ref": f"#/components/schemas/{_TIME}"}
        if "null" in field.get("type", ()):
            time = {"anyOf": [time, {"type": "null"}]}
        properties[name] = {**time, "description": field["description"]} if is_time else field
    return {**schema, "properties": properties} if properties else schema


def _without_examples(value: Any) -> Any:
    """Examples of objects are long, and are in the reference."""
    if isinstance(value, dict):
        return {name: _without_examples(each) for name, each in value.items() if name not in {"example", "examples"}}
    return [_without_examples(each) for each in value] if isinstance(value, list) else value


def _openapi_typescript(schemas: dict[str, Schema]) -> str:
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Waypost", "version": "1"},
        "paths": {},
        "components": {"schemas": schemas},
    }
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "openapi.json"
        path.write_text(json.dumps(document))
        options = ["--default-non-nullable", "false", "--output", path.with_suffix(".ts")]
        command = ["node", NODE_MODULES / "openapi-typescript" / "bin" / "cli.js", path, *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return path.with_suffix(".ts").read_text()


def _exported(text: str) -> str:
    """Return each schema as a type of its own, in place of one type with all of them."""
    inner = text[text.index("    schemas: {\n") : text.index("\n    };\n    responses:")].partition("\n")[2]
    lines = (line.removeprefix("        ") for line in inner.split("\n"))
    text = "\n".join(_exports(lines))
    text = re.sub(r"^ +\* (?:Format: .*|@enum .*)\n", "", text, flags=re.MULTILINE).replace("@description ", "")
    text = re.sub(r"^( *)/\*\*\n +\* (.*)\n +\*/", r"\1/** \2 */", text, flags=re.MULTILINE)
    text = re.sub(r"^( +)\1(?! )", r"\1", text, flags=re.MULTILINE)
    named = re.sub(r'components\["schemas"\]\["(\w+)"\]', r"\1", text)
    return named.replace(f"export type {_TIME} = string;", f"export type {_TIME} = string | Date;")


def _exports(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if start := re.match(r"(\w+): \{$", line):
            yield f"export interface {start[1]} {{"
        elif start := re.match(r"(\w+): (.*)", line):
            yield f"export type {start[1]} = {start[2]}"
        else:
            yield "}" if line == "};" else line
