"""The reference of the HTTP API, as pages: one for each tag of the OpenAPI document."""

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from waypost.commands.database import migrate_database
from waypost.settings import Settings
from waypost.web_app import open_full_app

BASE_URL = "https://go.example.com"
_BODIES = {"application/json": "JSON", "multipart/form-data": "a form"}

Schema = dict[str, Any]


def openapi() -> Schema:
    """Return the document that a running service serves at /api/openapi.json."""
    return asyncio.run(_openapi())


async def _openapi() -> Schema:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:  # a read that ends late may write
        settings = Settings(data_dir=Path(directory), base_url=BASE_URL, secret_key="documentation" * 3)
        await migrate_database(settings)
        async with (
            open_full_app(settings) as web,
            httpx.AsyncClient(transport=httpx.ASGITransport(web.app), base_url=BASE_URL) as client,
        ):
            document: Schema = (await client.get("/api/openapi.json")).raise_for_status().json()
            return document


def api_pages(document: Schema) -> dict[str, str]:
    """Return the pages by path."""
    pages = {
        f"reference/endpoints/{tag['name']}.md": _page(document, tag["name"], tag["x-displayName"], tag["description"])
        for tag in document["tags"]
    }
    rows = [
        f"| [{operation['summary']}]({operation['tags'][0]}.md#{_anchor(operation)}) | `{method.upper()} {path}` "
        f"| {_scope(operation)} |"
        for path, method, operation in _operations(document)
    ]
    first, _, about = document["info"]["description"].partition("\n\n")
    table = "| what it does | endpoint | scope |\n|---|---|---|\n" + "\n".join(rows)
    ending = [f"- {each}" for each in deprecated(document)]
    deprecations = ["## Deprecated { #deprecated }", "\n".join(ending)] if ending else []
    index = ["# Endpoints", first, _ABOUT_DOCUMENT, table, *deprecations, about]
    return {"reference/endpoints/index.md": "\n\n".join(index) + "\n", **pages}


_ABOUT_DOCUMENT = """These pages are generated from the OpenAPI document. A running service serves it at
`/api/openapi.json`, and as an interactive page at `/docs`, both without sign-in."""


def _operations(document: Schema) -> list[tuple[str, str, Schema]]:
    """Return path, method and description of each endpoint, in the order of the tags."""
    order = [tag["name"] for tag in document["tags"]]
    found = [(path, method, each) for path, methods in document["paths"].items() for method, each in methods.items()]
    return sorted(found, key=lambda operation: order.index(operation[2]["tags"][0]))


def deprecated(document: Schema) -> Iterator[str]:
    """Name each endpoint, parameter and field that will be removed, as the changelog does, with what to use instead."""
    for path, method, operation in _operations(document):
        endpoint = f"`{method.upper()} {path.removeprefix('/api/v1')}`"
        if operation.get("deprecated"):
            yield f"{endpoint}: {_notice(operation)}"
        for each in operation.get("parameters", ()):
            if each.get("deprecated"):
                yield f"`{each['name']}` of {endpoint}: {_notice(each)}"
    for name, schema in document["components"]["schemas"].items():
        for field, about in schema.get("properties", {}).items():
            if about.get("deprecated"):
                yield f"`{field}` of `{name}`: {_notice(about)}"


def _notice(about: Schema) -> str:
    notice: str = about["description"].partition("\n")[0]
    return notice


def _page(document: Schema, tag: str, title: str, about: str) -> str:
    parts = [f"# {title}", about]
    for path, method, operation in _operations(document):
        if tag in operation["tags"]:
            parts += _operation(document, path, method, operation)
    return "\n\n".join(parts) + "\n"


def _operation(document: Schema, path: str, method: str, operation: Schema) -> Iterator[str]:
    yield f"## {operation['summary']} {{ #{_anchor(operation)} }}"
    yield f"```http\n{method.upper()} {path}\n```"
    yield f"Scope: {_scope(operation)}. {operation.get('description', '')}".strip()
    if parameters := operation.get("parameters"):
        yield "| parameter | in | type | meaning |\n|---|---|---|---|\n" + "\n".join(
            f"| `{each['name']}` | {each['in']} | {_type(document, each['schema'])} "
            f"| {_sentence(document, each.get('description', ''), each['schema'])} |"
            for each in parameters
        )
    if body := operation.get("requestBody"):
        content = next(iter(body["content"].values()))
        forms = " or ".join(name for kind, name in _BODIES.items() if kind in body["content"])
        yield f"**Body**{'' if body.get('required') else ' (optional)'}, {forms}:"
        yield from _tables(document, content["schema"], is_body=True)
        if "example" in content:
            yield _json(content["example"])
    yield from _responses(document, operation)


def _responses(document: Schema, operation: Schema) -> Iterator[str]:
    described = {status: _resolved(document, each) for status, each in operation["responses"].items()}
    yield "| status | meaning |\n|---|---|\n" + "\n".join(
        f"| {status} | {_cell(each['description'])} |" for status, each in described.items() if status != "default"
    )
    for status, response in described.items():
        content = response.get("content", {}).get("application/json", {})
        if status.startswith("2") and content:
            yield f"**Response** with status {status}:"
            yield _json(content["example"])
            data = _resolved(document, content["schema"])["properties"]["data"]
            yield from _tables(document, data.get("items", data), is_body=False)


def _tables(document: Schema, schema: Schema, *, is_body: bool) -> Iterator[str]:
    """Yield the fields of an object, and those of the objects in it."""
    name, *names = _objects(document, schema)
    schemas = document["components"]["schemas"]
    yield _fields(document, schemas[name], is_body=is_body)
    for inner in names:
        yield f"`{inner}`:"
        yield _fields(document, schemas[inner], is_body=is_body)


def _objects(document: Schema, schema: Schema) -> list[str]:
    """Return the names of the schemas of an object and of all objects in it."""
    found: list[str] = []

    def add(each: Schema) -> None:
        for option in (each, each.get("items", {}), *each.get("anyOf", ())):
            name = option.get("$ref", "").rpartition("/")[2]
            if name and name not in found and "properties" in _resolved(document, option):
                found.append(name)
                for field in document["components"]["schemas"][name]["properties"].values():
                    add(field)

    add(schema)
    return found


def _fields(document: Schema, schema: Schema, *, is_body: bool) -> str:
    required = schema.get("required", ()) if is_body else ()
    rows = [
        f"| `{name}`{' (required)' if name in required else ''} | {_type(document, field)} "
        f"| {_sentence(document, field.get('description', ''), field)} |"
        for name, field in schema["properties"].items()
    ]
    return "| field | type | meaning |\n|---|---|---|\n" + "\n".join(rows)


def _resolved(document: Schema, schema: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    kind, name = schema["$ref"].split("/")[2:]
    return {**document["components"][kind][name], **schema}


def _options(schema: Schema) -> list[Schema]:
    return schema.get("anyOf") or [schema]


def _type(document: Schema, schema: Schema) -> str:
    names: list[str] = []
    for option in _options(schema):
        resolved = _resolved(document, option)
        kinds = resolved.get("type", "string")
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if "properties" in resolved and "$ref" in option:
                names.append(f"`{option['$ref'].rpartition('/')[2]}`")
            elif kind == "array":
                names.append(f"array of {_type(document, resolved['items'])}")
            elif resolved.get("format") and kind == "string":
                names.append({"uuid": "UUID", "date-time": "time", "binary": "file"}.get(resolved["format"], "string"))
            else:
                names.append(kind)
    return " or ".join(dict.fromkeys(names))


def _sentence(document: Schema, description: str, schema: Schema) -> str:
    """Return the description with the limits that the schema states."""
    notes = [description]
    options = [_resolved(document, option) for option in [*_options(schema), schema.get("items", {})]]
    enums = [option["enum"] for option in options if "enum" in option]
    notes += ["one of " + ", ".join(f"`{value}`" for value in values) for values in enums]
    if "default" in schema and schema["default"] is not None:
        notes.append(f"default `{json.dumps(schema['default']).strip(chr(34))}`")
    if "maxLength" in schema:
        notes.append(f"at most {schema['maxLength']:,} characters")
    if "maxItems" in schema:
        notes.append(f"at most {schema['maxItems']:,}")
    if "minimum" in schema and "maximum" in schema:
        notes.append(f"{schema['minimum']} to {schema['maximum']}")
    return _cell("; ".join(note for note in notes if note))


def _scope(operation: Schema) -> str:
    if not operation["security"]:
        return "none: the URL is signed"
    scopes = operation["security"][0]["bearer"]
    return f"`{scopes[0]}`" if scopes else "any key"


def _anchor(operation: Schema) -> str:
    anchor: str = operation["operationId"].replace("_", "-")
    return anchor


def _cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")


def _json(value: Any) -> str:
    return "```json\n" + json.dumps(value, indent=2, ensure_ascii=False) + "\n```"
