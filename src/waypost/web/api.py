"""The JSON API's application: FastAPI with the envelope and none of the answers the specification does not have."""

from collections.abc import Iterator
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
        document["tags"] = openapi.GROUPS
        for operation in _operations(document):
            operation["tags"] = [openapi.GROUP_OF.get(operation["operationId"], *operation["tags"])]
            if operation.get("security") == []:  # asks for no key, so it refuses none
                for status in ("401", "402", "429"):
                    operation["responses"].pop(status, None)
        return document


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (operation for path in document["paths"].values() for operation in path.values())


def _operation_id(route: APIRoute) -> str:
    """`links_create`: what generated clients call their functions."""
    return "_".join([*map(str, route.tags), route.name])


def new_api(base_url: str | None = None) -> FastAPI:
    """Without routes; the resources' are included by whoever composes. Its document says that it is at `base_url`."""
    app = Api(
        title="Waypost",
        version="1",
        description=openapi.ABOUT,
        servers=[{"url": base_url}] if base_url else None,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=openapi.EVERYWHERE,
        generate_unique_id_function=_operation_id,
    )
    envelope.install(app)
    return app
