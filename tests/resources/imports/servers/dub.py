"""Dub's API."""

from typing import Any

from resources.imports.servers.scripted import TOKEN, Answer, Request, ScriptedService, as_json


def dub_link(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"link_{number}",
        "domain": "go.example.com",
        "key": f"page{number}",
        "url": f"https://www.example.com/{number}",
        "externalId": None,
        "archived": False,
        "disabledAt": None,
        "expiresAt": None,
        "expiredUrl": None,
        "password": None,
        "title": None,
        "description": None,
        "image": None,
        "proxy": False,
        "ios": None,
        "android": None,
        "geo": None,
        "tags": [],
        "testVariants": None,
        "testCompletedAt": None,
        "clicks": 0,
        "createdAt": "2023-07-08T09:10:11.123Z",
        **fields,
    }


def dub_click(number: int, link_id: str, at: str, **fields: Any) -> dict[str, Any]:
    """`at`: ISO 8601 in UTC."""
    click = {
        "id": f"click_{number}",
        "country": "DE",
        "city": "Berlin",
        "device": "Mobile",
        "browser": "Safari",
        "os": "iOS",
        "referer": "(direct)",
        "refererUrl": "(direct)",
        "qr": False,
        "ip": "",
        **fields,
    }
    return {"event": "click", "timestamp": at, "click": click, "link": {"id": link_id}}


class Dub(ScriptedService):
    """Lists newest first. Archived links need `showArchived`."""

    def __init__(self, *links: dict[str, Any], token: str = TOKEN) -> None:
        super().__init__()
        self.token = token
        self.links = [*links]
        self.clicks: list[dict[str, Any]] = []
        """Oldest first."""
        self.plan_has_events = True

    def answer(self, request: Request) -> Answer:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return _error(401, "unauthorized", "Unauthorized: Invalid API key.")
        match request.path:
            case "/links":
                return self._links(request)
            case "/events" if not self.plan_has_events:
                return _error(403, "forbidden", "Unauthorized: Need higher plan.")
            case "/events":
                return self._clicks(request)
            case _:
                return _error(404, "not_found", "Not found.")

    def _links(self, request: Request) -> Answer:
        shown = [link for link in self.links[::-1] if "showArchived" in request.query or not link["archived"]]
        after = request.query.get("startingAfter")
        start = next((index + 1 for index, link in enumerate(shown) if link["id"] == after), 0)
        return as_json(self.page(shown, start, min(int(request.query.get("pageSize", 100)), 100))[0])

    def _clicks(self, request: Request) -> Answer:
        query = request.query
        found = [click for click in self.clicks if query["start"] <= click["timestamp"] <= query["end"]]
        if query.get("sortOrder", "desc") == "desc":
            found.reverse()
        size = int(query.get("limit", 100))
        return as_json(self.page(found, (int(query.get("page", 1)) - 1) * size, size)[0])


def _error(status: int, code: str, message: str) -> Answer:
    return as_json({"error": {"code": code, "message": message, "doc_url": "https://dub.co/docs"}}, status)
