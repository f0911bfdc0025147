"""Samples of each operation: with curl, and with the clients for Python and TypeScript.

Method names follow from operation ids: `links_bulk_create` is `links.bulk_create` in Python and `links.bulkCreate` in
TypeScript. IDs of the path come first, then the fields of the body; a body that is only a list is passed as one.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from waypost.web.openapi.parameters import Schema

_WIDTH = 80
_NEW_LINE = "\n"
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
    sends_file: bool
    result: str | None
    """What is returned, such as `link`; None for nothing."""
    is_list: bool
    is_paged: bool
    needs_key: bool


def samples(base_url: str, path: str, method: str, operation: Schema) -> Iterator[Schema]:
    call = _call(base_url, path, method, operation)
    yield {"lang": "bash", "label": "curl", "source": _curl(call)}
    if call.needs_key:
        yield {"lang": "python", "label": "Python", "source": _python(call, base_url)}
        yield {"lang": "typescript", "label": "TypeScript", "source": _typescript(call, base_url)}


def _call(base_url: str, path: str, method: str, operation: Schema) -> Call:
    required = [param for param in operation.get("parameters", ()) if param["required"]]
    ids = {param["name"]: param["example"] for param in required if param["in"] == "path"}
    query = "&".join(f"{param['name']}={param['example']}" for param in required if param["in"] == "query")
    content = operation.get("requestBody", {}).get("content", {})
    returned = next(response for status, response in operation["responses"].items() if status.startswith("2"))
    schema = returned.get("content", {}).get("application/json", {}).get("schema", {}).get("$ref", "")
    result = re.sub(
        r"^Bulk.*|(Response|Page|List)$", lambda match: "" if match[1] else "Result", schema.rpartition("/")[2]
    )
    group, _, name = operation["operationId"].partition("_")
    return Call(
        method,
        base_url + path.format_map(ids) + (f"?{query}" if query else ""),
        group,
        name,
        list(ids.values()),
        content.get("application/json", {}).get("example", {}),
        bool(content) and "application/json" not in content,
        "_".join(_WORD.findall(result)).lower() or None,
        schema.endswith(("Page", "List")),
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
        parts += ["-H 'Content-Type: application/json'", f"-d '{_JSON.text(call.body)}'"]
    if call.sends_file:
        parts.append("-F file=@logo.png")
    return " \\\n  ".join(parts)


def _python(call: Call, base_url: str) -> str:
    arguments = [json.dumps(id_) for id_ in call.ids]
    if call.sends_file:
        arguments.append('Path("logo.png")')
    for name, value in call.body.items():
        text = _PYTHON.text(value, _PYTHON.indent)
        arguments.append(text if _is_list(call.body) else f"{name}={text}")
    function = f"client.{call.group}.{call.name}"
    invoked = f"{function}({', '.join(arguments)})"
    if len(invoked) > _WIDTH - len(call.result or "") or "\n" in invoked:
        invoked = f"{function}(\n{''.join(f'    {argument},{_NEW_LINE}' for argument in arguments)})"
    lines = [
        "import os",
        *(["from pathlib import Path"] if call.sends_file else []),
        "",
        "from waypost_client import Waypost",
        "",
        f'client = Waypost("{base_url}", os.environ["WAYPOST_API_KEY"])',
        _used(call, invoked, "for {} in {}:\n    print({})", "{} = {}\nprint({})", "{}"),
    ]
    return "\n".join(lines)


def _typescript(call: Call, base_url: str) -> str:
    arguments = [json.dumps(id_) for id_ in call.ids]
    if call.sends_file:
        arguments.append('await readFile("logo.png")')
    if call.body:
        (sent,) = call.body.values() if _is_list(call.body) else (call.body,)
        arguments.append(_TYPESCRIPT.text(sent))
    start = "for await (const {} of {})" if call.is_paged else "for (const {} of await {})"
    for_each, once = start + " {{\n  console.log({});\n}}", "const {} = await {};\nconsole.log({});"
    invoked = f"waypost.{call.group}.{_camel_case(call.name)}({', '.join(arguments)})"
    named = call._replace(result=_camel_case(call.result) if call.result else None)
    lines = [
        *(['import { readFile } from "node:fs/promises";'] if call.sends_file else []),
        'import { Waypost } from "@waypost/client";',
        "",
        "const waypost = new Waypost({",
        f'  baseUrl: "{base_url}",',
        "  apiKey: process.env.WAYPOST_API_KEY!,",
        "});",
        _used(named, invoked, for_each, once, "await {};"),
    ]
    return "\n".join(lines)


def _used(call: Call, invoked: str, for_each: str, once: str, alone: str) -> str:
    """Return the statement that does something with the result."""
    if call.result is None:
        return alone.format(invoked)
    return (for_each if call.is_list else once).format(call.result, invoked, call.result)


def _is_list(body: Mapping[str, Any]) -> bool:
    return len(body) == 1 and isinstance(next(iter(body.values())), list)


def _camel_case(name: str) -> str:
    first, *words = name.split("_")
    return first + "".join(map(str.capitalize, words))


class _Notation(NamedTuple):
    """How a language writes values."""

    indent: int
    last_comma: str
    has_plain_keys: bool
    constants: Mapping[bool | None, str]

    def text(self, value: Any, indent: int = 0) -> str:
        """Write the value on one line if it fits. `indent`: of the line on which it begins."""
        line = self._line(value)
        if len(line) + indent <= _WIDTH or not isinstance(value, dict | list):
            return line
        inner = indent + self.indent
        if isinstance(value, dict):
            entries, brackets = [f"{self._key(key)}: {self.text(item, inner)}" for key, item in value.items()], "{}"
        else:
            entries, brackets = [self.text(entry, inner) for entry in value], "[]"
        lines = ",\n".join(" " * inner + entry for entry in entries)
        return f"{brackets[0]}\n{lines}{self.last_comma}\n{' ' * indent}{brackets[1]}"

    def _line(self, value: Any) -> str:
        if isinstance(value, dict):
            text = ", ".join(f"{self._key(key)}: {self._line(item)}" for key, item in value.items())
            return f"{{ {text} }}" if self.has_plain_keys else f"{{{text}}}"
        if isinstance(value, list):
            return f"[{', '.join(map(self._line, value))}]"
        return self.constants[value] if value is None or isinstance(value, bool) else json.dumps(value)

    def _key(self, key: str) -> str:
        return key if self.has_plain_keys and key.isidentifier() else json.dumps(key)


_JSON_CONSTANTS = {True: "true", False: "false", None: "null"}
_JSON = _Notation(2, "", has_plain_keys=False, constants=_JSON_CONSTANTS)
_TYPESCRIPT = _Notation(2, ",", has_plain_keys=True, constants=_JSON_CONSTANTS)
_PYTHON = _Notation(4, ",", has_plain_keys=False, constants={True: "True", False: "False", None: "None"})
