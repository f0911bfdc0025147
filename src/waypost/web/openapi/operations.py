"""Describes one endpoint: parameters, body, answers and code samples."""

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, NamedTuple

from fastapi.dependencies.models import Dependant

from waypost.kit.fields import parse
from waypost.web import idempotency
from waypost.web.body import ParsedBody
from waypost.web.endpoint import Endpoint
from waypost.web.guard import Permission, path_id
from waypost.web.openapi import code_samples, responses
from waypost.web.openapi.descriptions import FORMAT, IDS, RESOURCES
from waypost.web.openapi.examples import referred
from waypost.web.openapi.parameters import Schema
from waypost.web.openapi.schemas import Schemas, has_file, reference

_TAG_OF_GROUP = {"stats": "clicks"}
_TAG_OF_OPERATION = {"links_clicks": "clicks", "links_stats": "clicks"}
_NO_INTEGER = "This must be an integer of at least 1."
_NO_TIME = "This must be a date and time in ISO 8601 format, such as 2030-01-31T12:00:00Z."
_WRONG = True
"""A value that no first field of a body takes."""


class _Needs(NamedTuple):
    """What an endpoint reads of a request, by its dependencies."""

    permission: Permission | None
    body: ParsedBody[Any] | None
    has_id: bool


def describe(endpoint: Endpoint, method: str, schemas: Schemas, base_url: str) -> Schema:
    needs, operation_id = _needs(endpoint.dependant), endpoint.operation_id or endpoint.unique_id
    group = operation_id.partition("_")[0]
    parameters = list(_parameters(endpoint, method, needs, schemas))
    operation: Schema = {
        "operationId": operation_id,
        "tags": [_TAG_OF_OPERATION.get(operation_id) or _TAG_OF_GROUP.get(group, group)],
        "summary": endpoint.summary,
        "description": endpoint.description,
        "security": [{"bearer": [needs.permission.scope] if needs.permission.scope else []}]
        if needs.permission
        else [],
    }
    if parameters:
        operation["parameters"] = parameters
    if needs.body:
        operation["requestBody"] = _request_body(needs.body, schemas)
    operation["responses"] = _responses(endpoint, method, needs, operation, schemas, base_url)
    operation["x-codeSamples"] = list(code_samples.samples(base_url, endpoint.path_format, method, operation))
    return operation


def _needs(dependant: Dependant) -> _Needs:
    calls = list(_dependencies(dependant))
    permission = next((call for call in calls if isinstance(call, Permission)), None)
    body = next((call for call in calls if isinstance(call, ParsedBody)), None)
    return _Needs(permission, body, path_id in calls)


def _dependencies(dependant: Dependant) -> Iterator[Any]:
    for dependency in dependant.dependencies:
        yield dependency.call
        yield from _dependencies(dependency)


def _parameters(endpoint: Endpoint, method: str, needs: _Needs, schemas: Schemas) -> Iterator[Schema]:
    declared = (endpoint.openapi_extra or {}).get("parameters", ())
    for name in re.findall(r"{(\w+)}", endpoint.path_format):
        values = (param["schema"] for param in declared if param["name"] == name and param["in"] == "path")
        schema: Schema = next(values, {})
        if "enum" in schema:
            about: Schema = {"description": FORMAT, "schema": schemas.value(schema), "example": schema["enum"][0]}
        else:
            resource, model = IDS.get(name) or RESOURCES[endpoint.path_format.split("/")[3]]
            id_schema, example = {"type": "string", "format": "uuid"}, schemas.example(model)["id"]
            about = {"description": f"ID of the {resource}", "schema": id_schema, "example": example}
        yield {"name": name, "in": "path", "required": True, **about}
    for parameter in declared:
        if parameter["in"] == "query":
            default = {"default": parameter["schema"]["default"]} if "default" in parameter["schema"] else {}
            schema = schemas.value(parameter["schema"]) | default
            name = referred(schema)
            yield {**parameter, "schema": schema, "example": schemas.example(name) if name else parameter["example"]}
    if method == "POST" and needs.permission:
        yield idempotency.PARAMETER


def _request_body(body: ParsedBody[Any], schemas: Schemas) -> Schema:
    """Describe the body as JSON, and as a multipart form if it may contain a file."""
    media_types: Schema = {
        "application/json": {"schema": reference(schemas.body(body.model)), "example": body.model.EXAMPLE}
    }
    if body.is_form and has_file(body.model):
        media_types["multipart/form-data"] = {"schema": reference(schemas.form(body.model))}
    return {"required": body.is_required, "content": media_types}


def _responses(
    endpoint: Endpoint, method: str, needs: _Needs, operation: Schema, schemas: Schemas, base_url: str
) -> Schema:
    status = endpoint.status_code or 200
    success: Schema = {"description": HTTPStatus(status).phrase}
    if needs.permission:
        replayed = ["Idempotent-Replayed"] if method == "POST" else []
        declared = (endpoint.openapi_extra or {}).get("headers", ())
        success["headers"] = responses.headers(status, *replayed, *declared)
    if endpoint.model:
        name = schemas.answer(endpoint.model)
        example = _example(schemas, name, base_url + endpoint.path_format)
        success["content"] = {"application/json": {"schema": reference(name), "example": example}}
    described = {str(status): success, **_errors(method, needs, operation)}
    for other, declared in endpoint.responses.items():
        described[str(other)] = {**described.get(str(other), {}), **declared} or responses.error_response(other)
    return dict(sorted(described.items()))


def _example(schemas: Schemas, name: str, url: str) -> Any:
    """Return an example of the response to a request of `url`. A list has one page."""
    example = schemas.example(name)
    if not name.endswith("Page"):
        return example
    url = url.replace("{id}", schemas.example("Link")["id"])
    links = {"first": f"{url}?page=1", "last": f"{url}?page=1", "prev": None, "next": None}
    meta = {"current_page": 1, "from": 1, "last_page": 1, "path": url, "per_page": 15, "to": 1, "total": 1}
    return {**example, "links": links, "meta": meta}


def _errors(method: str, needs: _Needs, operation: Schema) -> Schema:
    statuses = [404] if needs.has_id else []
    if needs.permission:
        statuses += [401, 402, 429, *([403] if needs.permission.scope else []), *([409] if method == "POST" else [])]
    if needs.body:
        statuses.append(413)
    errors = {str(status): responses.error_response(status) for status in statuses}
    if problem := _problem(needs, operation):
        errors["422"] = responses.validation_error(*problem)
    return errors


def _problem(needs: _Needs, operation: Schema) -> tuple[str, str] | None:
    """Return a field that may be wrong, and what is reported of it."""
    if needs.body:
        model = needs.body.model
        field = next(iter(model.REQUIRED or model.model_fields))
        parsed, problems = parse(model, {} if model.REQUIRED else {field: _WRONG})
        parsed.check_required(problems)
        return field, problems.errors[field][0]
    if not needs.permission:
        return None
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "query":
            return parameter["name"], _NO_INTEGER if parameter["name"] == "page" else _NO_TIME
        if parameter["in"] == "header":
            return parameter["name"], idempotency.WRONG_KEY
    return None
