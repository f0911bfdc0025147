"""The JSON API's application: FastAPI with the envelope and none of the answers the specification does not have."""

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from waypost.web import envelope, openapi

PREFIX = "/api/v1"


class Api(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """The guard is no security scheme of FastAPI's, which would ask for the key in its own way."""
        document = super().openapi()
        document["components"]["securitySchemes"] = openapi.SECURITY_SCHEMES
        return document


def _operation_id(route: APIRoute) -> str:
    """`links_create`: what generated clients call their functions."""
    return "_".join([*map(str, route.tags), route.name])


def new_api() -> FastAPI:
    """Without routes; the rooms' are included by whoever composes."""
    app = Api(
        title="Waypost",
        version="1",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=openapi.EVERYWHERE,
        generate_unique_id_function=_operation_id,
    )
    envelope.install(app)
    return app
