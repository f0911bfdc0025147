"""Kutt's API, version 2."""

from typing import Any
from uuid import UUID

from resources.imports.servers.scripted import TOKEN, Answer, Request, ScriptedService, as_json


def kutt_link(number: int, **fields: Any) -> dict[str, Any]:
    address = fields.get("address", f"page{number}")
    host = fields.get("domain") or "kutt.example.com"
    return {
        "id": str(UUID(int=number)),
        "address": address,
        "target": f"https://www.example.com/{number}",
        "description": None,
        "domain": None,
        "password": False,
        "banned": False,
        "expire_in": None,
        "visit_count": 0,
        "created_at": "2021-02-03T04:05:06.000Z",
        "updated_at": "2021-02-03T04:05:06.000Z",
        "link": {"link": f"{host}/{address}", "url": f"https://{host}/{address}"},
        **fields,
    }


class Kutt(ScriptedService):
    """Newest first; sends at most 50 links."""

    def __init__(self, *links: dict[str, Any], token: str = TOKEN) -> None:
        super().__init__()
        self.token = token
        self.links = [*links]
        """Oldest first."""

    def answer(self, request: Request) -> Answer:
        if request.headers.get("X-API-KEY") != self.token:
            return as_json({"error": "Unauthorized."}, 401)
        if request.path != "/api/v2/links":
            return as_json({"error": "Not found."}, 404)
        limit, skip = min(int(request.query.get("limit", 10)), 50), int(request.query.get("skip", 0))
        data, _ = self.page(self.links[::-1], skip, limit)
        total = len(self.links) if not self.is_endless else 10**9
        return as_json({"total": total, "limit": limit, "skip": skip, "data": data})
