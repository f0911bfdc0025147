"""Arguments of tools, as far as the API does not read them: names, JSON types, text of queries, links. Pure."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from waypost.kit.fields import text_problem
from waypost.mcp.definitions import Definition

_TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def find_problems(definition: Definition, arguments: Mapping[str, Any]) -> list[str]:
    """Return what is wrong. Null is the same as an omitted argument."""
    known = definition.properties
    problems = [] if arguments.keys() <= known.keys() else [f"Unknown argument. Use: {', '.join(known)}."]
    problems += [f"{name}: This is required." for name in definition.required if arguments.get(name) is None]
    for name, value in arguments.items():
        kind = known[name]["type"] if name in known else None
        if kind and value is not None and not _has_type(value, kind):
            problems.append(f"{name}: This must be of the type {kind}.")
        elif isinstance(value, str) and (problem := text_problem(value)):
            problems.append(f"{name}: {problem}")
    return problems


def read_address(name: str, shared_domain: str) -> tuple[str, str] | None:
    """Return hostname and path of a short URL, with or without a scheme, or of a slug. None if no link can have it."""
    _, has_scheme, rest = name.partition("://")
    host, has_path, path = (rest if has_scheme else name).partition("/")
    address = (host.lower(), unquote(path.partition("?")[0].partition("#")[0])) if has_path else (shared_domain, name)
    return address if "".join(address).isprintable() else None  # not every database accepts other text


def _has_type(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and not (kind == "integer" and isinstance(value, bool))
