"""The application on its own host: some first path segments are the API's, everything else is the dashboard's."""

from collections.abc import Collection

from starlette.types import ASGIApp, Receive, Scope, Send


class Front:
    def __init__(self, api: ASGIApp, dashboard: ASGIApp, api_segments: Collection[str]) -> None:
        self.api = api
        self.dashboard = dashboard
        self._api_segments = frozenset(api_segments)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        segment = scope["path"][1:].partition("/")[0] if scope["type"] == "http" else ""
        is_api = segment in self._api_segments or scope["type"] != "http"
        await (self.api if is_api else self.dashboard)(scope, receive, send)
