"""Samples of each operation: with curl, and with the clients for Python and TypeScript.

Method names follow from operation ids: `links_bulk_create` is `links.bulk_create` in Python and `links.bulkCreate` in
TypeScript. IDs of the path come first, then the fields of the body; a body that is only a list is passed as one.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pprint import pformat
from typing import Any, NamedTuple

from waypost.web.openapi.parameters import Schema

_WIDTH = 80
_WORD = re.compile(r"[A-Z][a-z]+")


class Call(NamedTuple):
    """An example of a request."""

    method: str
    url: str
    group: str
    name: str
    """Of the method in the clients, as in Python."""
    ids: list[str]
    body: Mapping[str, Any]
    result: str | None
    """What is returned, such as `link`; None for nothing."""
    is_list: bool
    needs_key: bool


def samples(base_url: str, path: str, method: str, operation: Schema) -> Iterator[Schema]:
    call = _call(base_url, path, method, operation)
    yield {"lang": "shell", "label": "curl", "source": _curl(call)}
    if call.needs_key:
        yield {"lang": "python", "label": "Python", "source": _python(call, base_url)}
        yield {"lang": "typescript", "label": "TypeScript", "source": _typescript(call, base_url)}


def _call(base_url: str, path: str, method: str, operation: Schema) -> Call:
    required = [each for each in operation.get("parameters", ()) if each["required"]]
    ids = {each["name"]: each["example"] for each in required if each["in"] == "path"}
    query = "&".join(f"{each['name']}={each['example']}" for each in required if each["in"] == "query")
    content = operation.get("requestBody", {}).get("content", {})
    returned = next(each for status, each in operation["responses"].items() if status.startswith("2"))
    schema = returned.get("content", {}).get("application/json", {}).get("schema", {}).get("$ref", "")
    result = re.sub(r"(Response|Page|List)$", "", schema.rpartition("/")[2])
    group, _, name = operation["operationId"].partition("_")
    return Call(
        method,
        base_url + path.format_map(ids) + (f"?{query}" if query else ""),
        group,
        name,
        list(ids.values()),
        content["application/json"]["example"] if content else {},
        "_".join(_WORD.findall(result)).lower() or None,
        schema.endswith("Page"),
        bool(operation["security"]),
    )


def _curl(call: Call) -> str:
    parts = [f"curl {call.url if '?' not in call.url else repr(call.url)}"]
    if call.method != "GET":
        parts.append(f"-X {call.method}")
    if call.needs_key:
        parts.append('-H "Authorization: Bearer $WAYPOST_API_KEY"')
    else:
        parts.append("--remote-name")
    if call.body:
        parts.append("-H 'Content-Type: application/json'")
        parts.append(f"-d '{json.dumps(call.body, indent=2)}'")
    return " \\\n  ".join(parts)


def _python(call: Call, base_url: str) -> str:
    if _is_list(call.body):
        body = [pformat(value, sort_dicts=False) for value in call.body.values()]
    else:
        body = [f"{name}={pformat(value, sort_dicts=False)}" for name, value in call.body.items()]
    arguments = [json.dumps(id_) for id_ in call.ids] + body
    invoked = _invoked(f"client.{call.group}.{call.name}", arguments, ("(", ")"))
    return "\n".join(
        [
            "import os",
            "",
            "from waypost_client import Waypost",
            "",
            f'client = Waypost("{base_url}", os.environ["WAYPOST_API_KEY"])',
            *_used(call, invoked, "for {} in {}:\n    print({})", "{} = {}\nprint({})"),
        ]
    )


def _typescript(call: Call, base_url: str) -> str:
    arguments = [json.dumps(id_) for id_ in call.ids]
    if call.body:
        (value,) = call.body.values() if _is_list(call.body) else (call.body,)
        arguments.append(re.sub(r'^( *)"(\w+)":', r"\1\2:", json.dumps(value, indent=2), flags=re.MULTILINE))
    first, *words = call.name.split("_")
    method = first + "".join(map(str.capitalize, words))
    invoked = f"waypost.{call.group}.{method}({', '.join(arguments)})"
    for_each, once = "for await (const {} of {}) {{\n  console.log({});\n}}", "const {} = await {};\nconsole.log({});"
    return "\n".join(
        [
            'import { Waypost } from "@waypost/client";',
            "",
            f'const waypost = new Waypost({{ baseUrl: "{base_url}", apiKey: process.env.WAYPOST_API_KEY }});',
            *_used(call, invoked, for_each, once, "await {};"),
        ]
    )


def _is_list(body: Mapping[str, Any]) -> bool:
    return len(body) == 1 and isinstance(next(iter(body.values())), list)


def _invoked(function: str, arguments: list[str], brackets: tuple[str, str]) -> str:
    opened, closed = brackets
    line = function + opened + ", ".join(arguments) + closed
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    lines = "".join(f"    {argument},\n".replace("\n", "\n    ").rstrip(" ") for argument in arguments)
    return f"{function}{opened}\n{lines}{closed}"


def _used(call: Call, invoked: str, for_each: str, once: str, alone: str = "{}") -> Iterator[str]:
    """Yield the statement that does something with the result."""
    if call.result is None:
        yield alone.format(invoked)
    else:
        name = call.result
        yield (for_each if call.is_list else once).format(name, invoked, name)
