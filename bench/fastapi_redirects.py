"""The reference for latencies: redirects in FastAPI, from a dictionary, on uvicorn with the service's options.

It records no visit.
"""

import sys

from fastapi import FastAPI, HTTPException
from fastapi.responses import RedirectResponse

from bench.bare_fastapi import serve
from bench.seed import destination_of, slug_of


def new_app(count: int) -> FastAPI:
    app, destinations = FastAPI(), {slug_of(number): destination_of(number) for number in range(count)}

    @app.get("/{slug}")
    async def visit(slug: str) -> RedirectResponse:
        if slug not in destinations:
            raise HTTPException(404)
        return RedirectResponse(destinations[slug], 302)

    return app


if __name__ == "__main__":
    serve(new_app(int(sys.argv[2])), int(sys.argv[1]))
