"""The JSON API's application: FastAPI with our error envelope and OpenAPI document.

The document is completed from the dependencies of each endpoint: key, scope, body and errors.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from fastapi import APIRouter, FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.utils import create_model_field
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute

from waypost.auth import REQUESTS_PER_MINUTE
from waypost.kit.fields import Body
from waypost.kit.pagination import DEFAULT_PER_PAGE, MAX_PER_PAGE
from waypost.serving.status import STATUSES
from waypost.version import VERSION
from waypost.web import idempotency
from waypost.web.body import ParsedBody
from waypost.web.envelope import BARE, CODES, install_envelope
from waypost.web.field_descriptions import FIELDS, PATH_PARAMETERS, RESOURCES
from waypost.web.guard import Permission, path_id

PREFIX = "/api/v1"


Schema = dict[str, Any]

_ABOUT = f"""Manage links, QR codes, domains, pixels and webhooks over HTTP.

Send a key as `Authorization: Bearer <key>`. Create keys under **API** in the dashboard; a key has only the scopes it
was created with. Bodies are JSON, or `multipart/form-data` to upload a file. Lists are paginated.

Each key may send {REQUESTS_PER_MINUTE} requests per minute. Requests beyond the limit get 429 Too Many Requests, and
`Retry-After` says how long to wait. Errors have an `error.code` and an `error.message`; validation errors list the
problems of each field in `error.errors`.
"""

_TAGS = {
    "links": ("Links", "Create short links, find, change, disable and delete them."),
    "qrcodes": ("QR codes", "Each link has a QR code: set its style, and show its image by a signed URL."),
    "clicks": ("Clicks and statistics", "Individual clicks, and statistics of one link or of all links."),
    "domains": ("Domains", "Use your own domains for links: create a domain, set its DNS record, verify it."),
    "pixels": ("Pixels", "Retargeting pixels, and the results of their server-side events."),
    "webhooks": ("Webhooks", "Notify your own server of events: signed, and retried until it accepts them."),
    "keys": ("API keys", "List the account's keys. Create and revoke keys in the dashboard."),
    "account": ("Account", "The account of the key, its plan and limits, and the key's scopes."),
}
"""Title and description by tag, in the order in which they are shown."""
_TAG_OF_OPERATION = {"stats_of_account": "clicks", "stats_of_link": "clicks", "account_tokens": "keys"}

_SECURITY_SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key with the scope that the endpoint requires.",
    }
}

_MEANINGS: dict[int | str, str] = {
    # as code what is quoted: descriptions are Markdown, where <key> is an element and disappears
    **{status: (kind.__doc__ or "").partition("\n")[0].replace('"', "`") for kind, status in STATUSES.items()},
    "default": "Other errors",
}
_INTEGER = {"type": "integer"}
_RATE_LIMIT_HEADERS = {
    "X-RateLimit-Limit": {"description": "Requests per minute", "schema": _INTEGER},
    "X-RateLimit-Remaining": {"description": "Requests left in this minute", "schema": _INTEGER},
}
_RETRY = {"Retry-After": {"description": "Seconds until the next request is accepted", "schema": _INTEGER}}
_FILE = {"type": "string", "format": "binary"}
_NULL = {"type": "null"}


def _object(properties: Schema, required: Iterable[str]) -> Schema:
    return {"type": "object", "properties": properties} | ({"required": sorted(required)} if required else {})


def _error_schema(**fields: Schema) -> Schema:
    error = {
        "code": {"type": "string", "enum": [*CODES.values(), "http_error"]},
        "message": {"type": "string"},
        **fields,
    }
    return _object(error, error)


_ERROR_SCHEMAS = {
    "Error": _error_schema(),
    "ErrorResponse": _object({"error": {"$ref": "#/components/schemas/Error"}}, ["error"]),
    "ValidationError": _error_schema(
        errors={"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
    ),
    "ValidationErrorResponse": _object({"error": {"$ref": "#/components/schemas/ValidationError"}}, ["error"]),
    "BareError": _object({"message": {"type": "string"}}, ["message"]),
}


class Endpoints(NamedTuple):
    """The HTTP endpoints of one package."""

    api: Sequence[APIRouter]
    pages: Sequence[BaseRoute]


class _Endpoint(APIRoute):
    """An endpoint that returns a response itself. The OpenAPI document alone needs the model of its content."""

    def __init__(self, path: str, endpoint: Callable[..., Any], *, response_model: Any, **options: Any) -> None:
        super().__init__(path, endpoint, response_model=None, **options)
        self._model = response_model

    def describe_response(self) -> None:
        if self._model:
            name = f"Response_{self.unique_id}"
            self.response_field = create_model_field(name, self._model, mode="serialization")


class _Api(FastAPI):
    def add(self, router: APIRouter) -> None:
        """Use the routes as they are, while `include_router` would make each a second time."""
        self.router.routes.extend(router.routes)

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            for route in self.routes:
                if isinstance(route, _Endpoint):
                    route.describe_response()
            self.openapi_schema = _describe(super().openapi(), self.routes)
        return self.openapi_schema


def _operation_id(route: APIRoute) -> str:
    """Return the name of the function in generated clients, such as `links_create`."""
    return "_".join([*map(str, route.tags), route.name.rstrip("_")])


def new_api(base_url: str | None = None) -> _Api:
    """Return the application without endpoints; the composition root adds them."""
    app = _Api(
        title="Waypost",
        version=VERSION,
        description=_ABOUT,
        servers=[{"url": base_url}] if base_url else None,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    idempotency.install_idempotency(app)
    install_envelope(app)
    app.add(_files())
    return app


def new_router(tag: str, path: str = "") -> APIRouter:
    """Return a router for endpoints of the API below `path`, which `new_api().add` takes."""
    return APIRouter(
        prefix=f"{PREFIX}{path}",
        tags=[tag],
        # naming a default also keeps FastAPI from documenting a 422 wherever a path has a parameter
        responses=error_responses("default"),
        route_class=_Endpoint,
        generate_unique_id_function=_operation_id,
    )


def _files() -> APIRouter:
    """Files that crawlers and browsers request from every host."""
    router = APIRouter(include_in_schema=False)

    @router.get("/robots.txt")
    async def robots_txt() -> PlainTextResponse:
        return PlainTextResponse("User-agent: *\nDisallow: /api/\n")

    @router.get("/favicon.ico")
    async def favicon() -> Response:
        return Response(status_code=204, headers={"Cache-Control": "public, max-age=86400"})

    return router


def _describe(document: Schema, routes: Sequence[BaseRoute]) -> Schema:
    """Complete the document that FastAPI derives from the signatures of endpoints."""
    document["components"]["securitySchemes"] = _SECURITY_SCHEMES
    document["components"]["schemas"] |= _ERROR_SCHEMAS
    document["tags"] = [
        {"name": name, "x-displayName": title, "description": about} for name, (title, about) in _TAGS.items()
    ]
    for route in routes:
        if isinstance(route, APIRoute) and (path := route.path_format) in document["paths"]:
            for method in route.methods or ():
                operation = document["paths"][path][method.lower()]
                _complete(operation, route)
                for each in operation.get("parameters", ()):
                    if each["in"] == "path":
                        resource = path.removeprefix(f"{PREFIX}/").partition("/")[0]
                        each["description"] = PATH_PARAMETERS[each["name"]].format(RESOURCES[resource])
    # generated clients name their types after the schemas: Link, not LinkJson
    described: Schema = json.loads(json.dumps(document).replace('Json"', '"').replace("Json_", "_"))
    for name, schema in described["components"]["schemas"].items():
        _describe_fields(name, schema)
    return described


def _describe_fields(owner: str, schema: Schema) -> None:
    for name, field in schema["properties"].items():
        title = name.partition("[")[0]
        field["description"] = FIELDS.get(f"{owner}.{title}") or FIELDS[title]
        field.pop("title", None)
        options = [option for option in field.get("anyOf", ()) if option != _NULL]
        if len(options) == 1:  # Scalar's validation refuses `anyOf` with null
            del field["anyOf"]
            field.update(_or_null(options[0]))


def _or_null(schema: Schema) -> Schema:
    enum = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [schema["type"], "null"], **enum}


def _complete(operation: Schema, route: APIRoute) -> None:
    operation["tags"] = [_TAG_OF_OPERATION.get(operation["operationId"], *operation["tags"])]
    operation["security"] = []
    success = operation["responses"][str(route.status_code or 200)]
    if success["description"] == "Successful Response":
        success["description"] = HTTPStatus(route.status_code or 200).phrase
    for call in _dependencies(route.dependant):
        if isinstance(call, Permission):
            operation["security"] = [{"bearer": [call.scope] if call.scope else []}]
            operation["responses"][str(route.status_code or 200)]["headers"] = _RATE_LIMIT_HEADERS
            if "POST" in (route.methods or ()):
                operation.setdefault("parameters", []).append(idempotency.PARAMETER)
                _add_errors(operation, 409, 422)
            _add_errors(operation, 401, 402, *((403,) if call.scope else ()), 429)
            if any(parameter["in"] == "query" for parameter in operation.get("parameters", ())):
                _add_errors(operation, 422)
        elif isinstance(call, ParsedBody):
            operation["requestBody"] = _request_body(call)
            _add_errors(operation, 413, 422)
        elif call is path_id:
            _add_errors(operation, 404)


def _add_errors(operation: Schema, *statuses: int) -> None:
    operation["responses"] |= {str(status): _error_response(status) for status in statuses}


def _dependencies(dependant: Dependant) -> Iterator[Any]:
    for dependency in dependant.dependencies:
        yield dependency.call
        yield from _dependencies(dependency)


def error_responses(*statuses: int | str) -> dict[int | str, Schema]:
    """Return `responses=` of an endpoint, in addition to those that its dependencies imply."""
    return {status: _error_response(status) for status in statuses}


def _error_response(status: int | str) -> Schema:
    name = "BareError" if status in BARE else "ValidationErrorResponse" if status == 422 else "ErrorResponse"
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
    response: Schema = {"description": _MEANINGS[status], "content": content}
    return response | {"headers": _RETRY} if status in {409, 429} else response


def parameter(name: str, schema: Schema, description: str) -> Schema:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def query_parameters(*parameters: Schema) -> Schema:
    """Return `openapi_extra=` of an endpoint that reads its query string itself."""
    return {"parameters": list(parameters)}


PAGING = (
    parameter("page", {**_INTEGER, "minimum": 1, "default": 1}, "Page number"),
    parameter(
        "per_page",
        {**_INTEGER, "minimum": 1, "default": DEFAULT_PER_PAGE},
        f"Items per page; the maximum is {MAX_PER_PAGE}",
    ),
)


def _request_body(body: ParsedBody[Any]) -> Schema:
    """Describe the body as JSON, and as a multipart form if it may be one."""
    model: type[Body] = body.model
    media_types: Schema = {"application/json": {"schema": _json_schema(model), "example": model.EXAMPLE}}
    if body.is_form:
        fields = _field_schemas(model)
        as_form = dict(form_field for name, field in fields.items() for form_field in _form_fields(name, field))
        form_schema = _object(as_form, model.REQUIRED)
        _describe_fields(model.__name__, form_schema)
        media_types["multipart/form-data"] = {"schema": form_schema}
    return {"required": body.is_required, "content": media_types}


def _json_schema(model: type[Body]) -> Schema:
    never_null = {*model.REQUIRED, *model.NOT_NULL}
    fields = {name: field for name, field in _field_schemas(model).items() if field != _FILE}
    for name, nested in model.NESTED.items():
        fields[name] = (
            {**fields[name], "items": _json_schema(nested)} if "items" in fields[name] else _json_schema(nested)
        )
    as_json = {name: dict(field) if name in never_null else _or_null(field) for name, field in fields.items()}
    schema = _object(as_json, model.REQUIRED)
    _describe_fields(model.__name__, schema)
    return schema


def _field_schemas(model: type[Body]) -> dict[str, Schema]:
    return {name: _without_null(field) for name, field in model.model_json_schema()["properties"].items()}


def _without_null(field: Schema) -> Schema:
    """Remove null and the default from a schema: every field of a body may be left out."""
    (schema,) = [option for option in field["anyOf"] if option != _NULL]
    return dict(_FILE) if "$ref" in schema else schema


def _form_fields(name: str, field: Schema) -> Iterator[tuple[str, Schema]]:
    """Name nested values as PHP forms do. Empty text means null."""
    if field["type"] == "array":
        yield f"{name}[]", field
    elif field["type"] == "object":
        for key in field["propertyNames"]["enum"]:
            yield f"{name}[{key}]", _without_null(field["additionalProperties"])
    else:
        yield name, field
