"""The OpenAPI document: what it says of the API as a whole, and its parts."""

from collections.abc import Sequence

from waypost.accounts import REQUESTS_PER_MINUTE
from waypost.version import VERSION
from waypost.web import envelope
from waypost.web.endpoint import PREFIX, Endpoint, EventDocs
from waypost.web.openapi import operations, responses, webhooks
from waypost.web.openapi.descriptions import GROUPS
from waypost.web.openapi.parameters import Schema
from waypost.web.openapi.schemas import Schemas

_ABOUT = f"""Manage links, QR codes, domains, pixels and webhooks over HTTP.

## Authentication

Send a key as `Authorization: Bearer <key>`. Create keys under **API** in the dashboard; a key has only the scopes it
was created with.

## Requests

Bodies are JSON in UTF-8, or `multipart/form-data` to upload a file. Lists have `page` and `per_page`, and URLs of other
pages in `links`. A request is checked in this order:

1. path and method: 404, 405
2. HTTPS: 400
3. key: 401
4. suspended account: 403
5. plan: 402
6. scope, and role of the member who created the key: 403
7. rate limit: 429
8. `Idempotency-Key`: 409, 422
9. size and syntax of the body: 413, 422
10. the resource of the path: 404
11. the fields of the body: 422

## Rate limit

Each key may send {REQUESTS_PER_MINUTE} requests per minute. `X-RateLimit-Limit` and `X-RateLimit-Remaining` say how
many are left. Requests beyond the limit get 429 Too Many Requests, and `Retry-After` says how long to wait.

## Repeated requests

Every `POST` accepts the header `Idempotency-Key`. A request that is sent again with the same key within 24 hours gets
the same response with `Idempotent-Replayed: true`, and changes nothing. While the first is running, the second gets
409 with `Retry-After`. The same key with another path or body gets 422. Only successful responses are kept.

## Errors

Errors have an `error.code` for programs and an `error.message` for people; validation errors list the problems of each
field in `error.errors`. Send a request that got 429 or 503 again after `Retry-After`.

## Clients

Operation ids are the names of methods in clients: `links_create` is `links.create`. They do not change. New fields and
new values can be added at any time. What will be removed is deprecated first: responses to requests that use it have
the headers `Deprecation` (RFC 9745) and, if the day is known, `Sunset` (RFC 8594).
"""

_ERRORS = (envelope.ErrorResponseJson, envelope.ValidationErrorResponseJson, envelope.BareErrorJson)


def describe(endpoints: Sequence[Endpoint], events: Sequence[EventDocs], base_url: str | None) -> Schema:
    answers = [endpoint.answer for endpoint in endpoints if endpoint.answer]
    modules = [part for endpoint in endpoints for part in (endpoint.respond, endpoint.body) if part]
    schemas = Schemas([*answers, *_ERRORS], events, modules)
    paths: Schema = {}
    for endpoint in sorted(endpoints, key=_place):
        described = operations.describe(endpoint, schemas, base_url or "")
        paths.setdefault(PREFIX + endpoint.path, {})[endpoint.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Waypost",
            "version": VERSION,
            "summary": "Branded short links",
            "description": _ABOUT,
            "contact": {"name": "Waypost", "url": "https://github.com/waypost/waypost"},
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url, "description": "This service"}] if base_url else [],
        "tags": [
            {"name": name, "x-displayName": group.title, "description": group.about} for name, group in GROUPS.items()
        ],
        "paths": paths,
        "webhooks": dict(webhooks.describe(events, schemas)),
        "components": {
            "schemas": schemas.finished(),
            "responses": responses.error_responses(),
            "headers": responses.HEADERS,
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key with the scope that the endpoint requires.",
                }
            },
        },
    }


def _place(endpoint: Endpoint) -> list[str]:
    """Sort a list before what is in it, and `/links/{id}` before `/links/bulk`, which routes must have first."""
    return endpoint.path.replace("{", "\0").split("/")
