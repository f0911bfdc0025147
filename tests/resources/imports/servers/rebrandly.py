"""Rebrandly's API, version 1."""

from typing import Any

from resources.imports.servers.scripted import TOKEN, Answer, Request, ScriptedService, as_json

WORKSPACE = "064885ad3e504b41"
MOST = 25


def rebrandly_link(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"{number:032x}",
        "title": f"Page {number}",
        "slashtag": f"page{number}",
        "destination": f"https://www.example.com/{number}",
        "shortUrl": f"go.example.com/page{number}",
        "domain": {"id": "8f10", "ref": "/domains/8f10", "fullName": "go.example.com", "active": True},
        "createdAt": "2021-03-04T05:06:07.000Z",
        "updatedAt": "2021-03-04T05:06:07.000Z",
        "status": "active",
        "clicks": 0,
        "tags": [],
        "https": True,
        "favourite": False,
        **fields,
    }


class Rebrandly(ScriptedService):
    def __init__(self, *links: dict[str, Any], token: str = TOKEN) -> None:
        super().__init__()
        self.token = token
        self.workspaces: dict[str, list[dict[str, Any]]] = {WORKSPACE: [*links]}

    def answer(self, request: Request) -> Answer:
        if request.headers.get("apikey") != self.token:
            return Answer(401, b"Unauthorized", {"Content-Type": "text/plain"})
        match request.path:
            case "/v1/workspaces":
                return as_json([{"id": each, "name": "Marketing", "role": "admin"} for each in self.workspaces])
            case "/v1/links":
                workspace = request.headers.get("workspace", next(iter(self.workspaces)))
                if workspace not in self.workspaces:
                    return as_json({"message": "Unauthorized workspace", "code": "Forbidden"}, 403)
                return self._links(self.workspaces[workspace], request)
            case _:
                return as_json({"message": "Not found", "code": "NotFound"}, 404)

    def _links(self, links: list[dict[str, Any]], request: Request) -> Answer:
        """Newest first, which are the last ones of the list here."""
        ordered = links[::-1] if request.query.get("orderDir") == "desc" else links
        last = request.query.get("last")
        start = next((index + 1 for index, link in enumerate(ordered) if link["id"] == last), 0)
        return as_json(self.page(ordered, start, min(int(request.query.get("limit", MOST)), MOST))[0])
