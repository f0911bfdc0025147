"""What the OpenAPI document says, as far as the client needs it."""

import keyword
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]
_JSON = "application/json"
_FORM = "multipart/form-data"


class Document:
    def __init__(self, content: Schema) -> None:
        self.content = content
        self.schemas: dict[str, Schema] = content["components"]["schemas"]
        self.version: str = content["info"]["version"]

    def operations(self) -> list["Operation"]:
        """Return the operations, sorted by the names of their methods."""
        found = (
            self._operation(path.removeprefix("/api/v1"), method.upper(), operation)
            for path, methods in self.content["paths"].items()
            for method, operation in methods.items()
        )
        return sorted(found, key=lambda each: (each.group, each.name))

    def events(self) -> dict[str, str]:
        """Return the schemas of events by their types."""
        bodies = {
            event: each["post"]["requestBody"]["content"][_JSON]["schema"]
            for event, each in self.content["webhooks"].items()
        }
        return {event: referred(body) or "" for event, body in sorted(bodies.items())}

    def tagged(self) -> set[str]:
        """Return the schemas of what is returned with an ETag."""
        answers = (each.answer for each in self.operations() if each.has_etag and each.answer)
        return {referred(self.schemas[answer]["properties"]["data"]) or "" for answer in answers}

    def reachable(self, names: set[str]) -> set[str]:
        """Return these schemas and those that they refer to."""
        found: set[str] = set()
        while new := names - found:
            found |= new
            names = {name for each in new for name in _references(self.schemas[each])}
        return found

    def has_fields(self, name: str) -> bool:
        return "properties" in self.schemas[name]

    def _operation(self, path: str, method: str, operation: Schema) -> "Operation":
        content = operation.get("requestBody", {}).get("content", {})
        answers = [each for status, each in operation["responses"].items() if status.startswith("2")]
        answer = answers[0].get("content", {}).get(_JSON, {}).get("schema", {})
        group, _, name = operation["operationId"].partition("_")
        return Operation(
            group,
            name,
            method,
            path,
            operation["summary"],
            operation.get("description", ""),
            [each for each in operation.get("parameters", []) if "x-media-type" not in each],
            referred((content.get(_JSON) or content[_FORM])["schema"]) if content else None,
            referred(content[_FORM]["schema"]) if _FORM in content else None,
            referred(answer),
            bool(operation["security"]),
            bool(answers[0].get("content", {})) and not answer,
            "ETag" in answers[0].get("headers", {}),
        )


@dataclass(frozen=True)
class Operation:
    group: str
    name: str
    method: str
    path: str
    summary: str
    description: str
    parameters: list[Schema]
    """Without those of files."""
    body: str | None
    """Name of the schema of the body."""
    form: str | None
    """Name of the schema of the body as a form with a file."""
    answer: str | None
    """Name of the schema of the response."""
    needs_key: bool
    is_file: bool
    """Whether the response is a file."""
    has_etag: bool
    """Whether the response has an ETag."""

    @property
    def takes_if_match(self) -> bool:
        return any(each["name"] == "If-Match" for each in self.parameters)

    @property
    def takes_idempotency_key(self) -> bool:
        return self.method == "POST" and not self.is_file


def referred(schema: Schema) -> str | None:
    reference: str | None = schema.get("$ref")
    return reference and reference.rpartition("/")[2]


def python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def class_name(group: str) -> str:
    return group.capitalize()


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if name := referred(value):
            yield name
        for key, each in value.items():
            if key not in {"examples", "example"}:
                yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)
