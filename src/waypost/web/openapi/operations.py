"""Describes one endpoint: parameters, body, answers and code samples."""

import inspect
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from waypost.kit.fields import Body, parse
from waypost.kit.versions import MALFORMED
from waypost.web import idempotency
from waypost.web.endpoint import PREFIX, Endpoint
from waypost.web.envelope import DESTINATION_CHECK
from waypost.web.openapi import code_samples, responses
from waypost.web.openapi.descriptions import GROUPS, IDS
from waypost.web.openapi.examples import referred
from waypost.web.openapi.parameters import IF_ABSENT, IF_MATCH, IF_NONE_MATCH, Schema
from waypost.web.openapi.schemas import Schemas, has_file, is_file, reference

_NO_INTEGER = "This must be an integer of at least 1."
_NO_TIME = "This must be a date and time in ISO 8601 format, such as 2030-01-31T12:00:00Z."
_WRONG_HEADERS = {idempotency.PARAMETER["name"]: idempotency.WRONG_KEY, IF_MATCH["name"]: MALFORMED}
_WRONG = object()
"""A value that no first field of a body takes."""


def describe(endpoint: Endpoint, schemas: Schemas, base_url: str) -> Schema:
    operation_id = endpoint.operation
    parameters = list(_parameters(endpoint, schemas))
    operation: Schema = {
        "operationId": operation_id,
        "tags": [endpoint.tag or operation_id.partition("_")[0]],
        "summary": endpoint.summary,
        "description": inspect.getdoc(endpoint.respond),
        "security": [{"bearer": [endpoint.scope] if endpoint.scope else []}] if endpoint.needs_key else [],
    }
    if parameters:
        operation["parameters"] = parameters
    if endpoint.body:
        operation["requestBody"] = _request_body(endpoint.body, schemas, is_required=endpoint.needs_body)
    operation["responses"] = _responses(endpoint, operation, schemas, base_url)
    if endpoint.deprecated:
        endpoint.deprecated(operation)
    path = PREFIX + endpoint.path
    operation["x-codeSamples"] = list(code_samples.samples(base_url, path, endpoint.method, operation))
    return operation


def _parameters(endpoint: Endpoint, schemas: Schemas) -> Iterator[Schema]:
    of_path = {parameter["name"]: parameter for parameter in endpoint.parameters if parameter["in"] == "path"}
    for name in endpoint.names:
        if name in of_path:
            about: Schema = {**of_path[name], "schema": schemas.value(of_path[name]["schema"])}
        else:
            resource, model = IDS.get(name) or GROUPS[endpoint.path.split("/")[1]][2:]
            id_schema, example = {"type": "string", "format": "uuid"}, schemas.example(model)["id"]
            about = {"description": f"ID of the {resource}", "schema": id_schema, "example": example}
        yield {"name": name, "in": "path", **about, "required": True}
    for parameter in endpoint.parameters:
        if parameter["in"] == "query":
            default = {"default": parameter["schema"]["default"]} if "default" in parameter["schema"] else {}
            schema = schemas.value(parameter["schema"]) | default
            named = referred(schema)
            example = schemas.example(named) if named else parameter["example"]
            described = {**parameter, "schema": schema, "example": example}
            if deprecated := parameter.get("deprecated"):
                deprecated(described)
            yield described
    if endpoint.takes_idempotency_key:
        yield idempotency.PARAMETER
    if endpoint.shows and endpoint.method == "GET":
        yield IF_NONE_MATCH
    if endpoint.changes_version:
        yield IF_MATCH
    if endpoint.creates:
        yield IF_ABSENT


def _request_body(model: type[Body], schemas: Schemas, *, is_required: bool) -> Schema:
    """Describe the body as JSON, and as a multipart form if it may contain a file; only as a form if it is a file."""
    media_types: Schema = {}
    if not is_file(model):
        media_types["application/json"] = {"schema": reference(schemas.body(model)), "example": model.EXAMPLE}
    if has_file(model):
        media_types["multipart/form-data"] = {"schema": reference(schemas.form(model))}
    return {"required": is_required, "content": media_types}


def _responses(endpoint: Endpoint, operation: Schema, schemas: Schemas, base_url: str) -> Schema:
    success: Schema = {}
    name = schemas.answer(endpoint.answer) if endpoint.answer else ""
    if endpoint.needs_key:
        replayed = ["Idempotent-Replayed"] if endpoint.takes_idempotency_key else []
        unreachable = [DESTINATION_CHECK] if endpoint.checks_destination else []
        paged = ["Link"] if name.endswith("Page") else []
        success["headers"] = responses.headers(endpoint.status, *replayed, *unreachable, *paged)
    if endpoint.answer:
        example = _example(schemas, name, base_url + PREFIX + endpoint.path)
        success["content"] = {"application/json": {"schema": reference(name), "example": example}}
        if endpoint.csv:
            success["content"]["text/csv"] = {"schema": {"type": "string"}, "example": endpoint.csv}
    if endpoint.file:
        success["content"] = {endpoint.file: {"schema": {"type": "string", "format": "binary"}}}
    statuses = (endpoint.status, 201) if endpoint.may_create else (endpoint.status,)
    successes = {str(status): {"description": HTTPStatus(status).phrase, **success} for status in statuses}
    if endpoint.shows and endpoint.method in {"GET", "PATCH"}:
        success["headers"] |= responses.headers(0, "ETag")
    others = {str(status): answer for status, answer in endpoint.others.items()}
    return dict(sorted((successes | others | _errors(endpoint, operation)).items()))


def _example(schemas: Schemas, name: str, url: str) -> Any:
    """Return an example of the response to a request of `url`. A list has one page."""
    example = schemas.example(name)
    if not name.endswith("Page"):
        return example
    url = url.replace("{id}", schemas.example("Link")["id"])
    links = {"first": f"{url}?page=1", "last": f"{url}?page=1", "prev": None, "next": None}
    meta = {"current_page": 1, "from": 1, "last_page": 1, "path": url, "per_page": 15, "to": 1, "total": 1}
    return {**example, "links": links, "meta": meta}


def _errors(endpoint: Endpoint, operation: Schema) -> Schema:
    statuses: list[int | str] = ["default", *endpoint.errors]
    if endpoint.needs_key:
        statuses += [401, 402, 429, *([403] if endpoint.scope else []), *([404] if endpoint.names else [])]
    if endpoint.takes_idempotency_key or endpoint.file:
        statuses.append(409)
    if endpoint.shows:
        statuses += [304] * (endpoint.method == "GET")
    if endpoint.changes_version:
        statuses.append(412)
    if endpoint.body:
        statuses.append(413)
    errors = {str(status): responses.error_response(status) for status in statuses}
    if problem := _problem(endpoint, operation):
        errors["422"] = responses.validation_error(*problem)
    return errors


def _problem(endpoint: Endpoint, operation: Schema) -> tuple[str, str] | None:
    """Return a field that may be wrong, and what is reported of it."""
    if model := endpoint.body:
        field = next(iter(model.REQUIRED or model.model_fields))
        parsed, problems = parse(model, {} if model.REQUIRED else {field: _WRONG})
        parsed.check_required(problems)
        return field, problems.errors[field][0]
    if not endpoint.needs_key:
        return None
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "query":
            return parameter["name"], _NO_INTEGER if parameter["name"] == "page" else _NO_TIME
        if message := _WRONG_HEADERS.get(parameter["name"]):
            return parameter["name"], message
    return None
