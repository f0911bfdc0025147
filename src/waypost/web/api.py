"""The JSON API's application: FastAPI with the specification's error envelope and OpenAPI document."""

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from waypost.web import envelope, openapi

PREFIX = "/api/v1"


class Api(FastAPI):
    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = openapi.describe(super().openapi(), self.routes)
        return self.openapi_schema


def _operation_id(route: APIRoute) -> str:
    """`links_create`: what generated clients call their functions."""
    return "_".join([*map(str, route.tags), route.name])


def new_api(base_url: str | None = None) -> FastAPI:
    """Without routes; the composition root includes those of the resources."""
    app = Api(
        title="Waypost",
        version="1",
        description=openapi.ABOUT,
        servers=[{"url": base_url}] if base_url else None,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # naming a default also keeps FastAPI from documenting a 422 wherever a path has a parameter
        responses=openapi.error_responses("default"),
        generate_unique_id_function=_operation_id,
    )
    envelope.install(app)
    return app
