"""The reference for the API: a FastAPI endpoint that returns constant bytes, on uvicorn with the service's options.

It checks no key, reads no database and encodes no JSON.
"""

import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Response


def new_app(body: bytes) -> FastAPI:
    app = FastAPI()

    @app.get("/api/v1/links/{link_id}")
    async def find(link_id: str) -> Response:  # noqa: ARG001  # the path has it
        return Response(body, media_type="application/json")

    return app


def serve(app: FastAPI, port: int) -> None:
    uvicorn.run(
        app, host="127.0.0.1", port=port, loop="uvloop", http="httptools", access_log=False, log_level="warning"
    )


if __name__ == "__main__":
    serve(new_app(Path(sys.argv[2]).read_bytes()), int(sys.argv[1]))
