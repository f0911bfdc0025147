"""Describes the requests that webhooks receive."""

from collections.abc import Iterable, Iterator
from typing import Any

from waypost.web.endpoint import EventDocs
from waypost.web.openapi.names import event_name
from waypost.web.openapi.parameters import Schema
from waypost.web.openapi.schemas import Schemas, reference

_SIGNATURE = (
    "`t=<seconds since 1970>,v1=<hex>`: `v1` is the HMAC-SHA256 of `t`, a dot and the raw body, with the signing secret"
    " of the webhook as key. Reject a `t` that is more than 300 seconds from your clock."
)
_HEADERS = {
    "X-Signature": (
        _SIGNATURE,
        "t=1795143376,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd",
    ),
    "X-Webhook-Timestamp": ("When the request was signed, in seconds since 1970", "1795143376"),
    "X-Delivery-Id": ("The `id` of the body", "01a1fbb2-2855-72ee-8e77-c161c4205e89"),
    "X-Event-Type": ("The `event` of the body", "link.clicked"),
}
_STANDARD_SIGNATURE = (
    "Standard Webhooks: `v1,<base64>`, the HMAC-SHA256 of `webhook-id`, a dot, `webhook-timestamp`, a dot and the raw"
    " body. The key is what follows `whsec_` in the signing secret, decoded. Webhooks whose secret does not end with"
    " `=` do not get these headers."
)
_STANDARD_HEADERS = {
    "webhook-id": ("Standard Webhooks: the `id` of the body", "01a1fbb2-2855-72ee-8e77-c161c4205e89"),
    "webhook-timestamp": ("Standard Webhooks: when the request was signed, in seconds since 1970", "1795143376"),
    "webhook-signature": (_STANDARD_SIGNATURE, "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="),
}


def describe(events: Iterable[EventDocs], schemas: Schemas) -> Iterator[tuple[str, Schema]]:
    for event in events:
        yield event.type, {"post": _request(event, schemas)}


def _request(event: EventDocs, schemas: Schemas) -> Schema:
    name = event_name(event.type)
    examples: dict[str, Any] = {"X-Event-Type": event.type}
    return {
        "operationId": f"on_{event.type.replace('.', '_')}",
        "tags": ["webhooks"],
        "summary": event.type,
        "description": event.description,
        "security": [],
        "parameters": [
            {
                "name": header,
                "in": "header",
                "required": header in _HEADERS,
                "description": description,
                "schema": {"type": "string"},
                "example": examples.get(header, example),
            }
            for header, (description, example) in {**_HEADERS, **_STANDARD_HEADERS}.items()
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": reference(name), "example": schemas.example(name)}},
        },
        "responses": {
            "2XX": {"description": "Any 2xx status within 10 seconds: the event is delivered"},
            "default": {
                "description": "Everything else, also a redirect: the same body is sent again, up to five times in all"
            },
        },
    }
