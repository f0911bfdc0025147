"""The JSON API's application: FastAPI with the envelope and none of the answers the specification does not have."""

from fastapi import FastAPI

from waypost.web import envelope

PREFIX = "/api/v1"


def new_api() -> FastAPI:
    """Without routes; the rooms' are included by whoever composes."""
    app = FastAPI(
        title="Waypost",
        version="1",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    envelope.install(app)
    return app
