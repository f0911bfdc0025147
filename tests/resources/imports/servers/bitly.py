"""Bitly's API, version 4."""

from typing import Any

from resources.imports.servers.scripted import TOKEN, Answer, Fault, Request, ScriptedService, as_json

GROUP = "Bk1a2b3c4d5"
TOO_FAST: Fault = lambda _: as_json({"message": "RATE_LIMIT_EXCEEDED"}, 429)  # noqa: E731
USED_UP: Fault = lambda _: as_json({"message": "API_USAGE_LIMIT_EXCEEDED"}, 429)  # noqa: E731


def bitlink(number: int, **fields: Any) -> dict[str, Any]:
    key = f"bit.ly/3k{number:05}"
    return {
        "id": key,
        "link": f"https://{key}",
        "long_url": f"https://www.example.com/{number}",
        "title": f"Page {number}",
        "archived": False,
        "created_at": "2020-10-26T17:20:40+0000",
        "created_by": "somebody",
        "client_id": "0" * 40,
        "custom_bitlinks": [],
        "tags": [],
        "launchpad_ids": [],
        "deeplinks": [],
        **fields,
    }


class Bitly(ScriptedService):
    """A position is `after_` and the number of links before it. Archived links need `archived=both`."""

    def __init__(self, *links: dict[str, Any], token: str = TOKEN) -> None:
        super().__init__()
        self.token = token
        self.groups: dict[str, list[dict[str, Any]]] = {GROUP: [*links]}
        self.inactive: set[str] = set()

    def answer(self, request: Request) -> Answer:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return as_json({"message": "FORBIDDEN"}, 403)
        match request.path.split("/")[1:]:
            case ["v4", "groups"]:
                groups = [
                    {"guid": guid, "name": "Group", "is_active": guid not in self.inactive, "bsds": ["go.example.com"]}
                    for guid in self.groups
                ]
                return as_json({"groups": groups})
            case ["v4", "groups", guid, "bitlinks"] if guid in self.groups and guid not in self.inactive:
                return self._links(self.groups[guid], request)
            case _:
                return as_json({"message": "NOT_FOUND", "resource": "bitlinks"}, 404)

    def _links(self, links: list[dict[str, Any]], request: Request) -> Answer:
        archived, size = request.query.get("archived", "off"), int(request.query.get("size", 50))
        start = int(request.query.get("search_after", "").removeprefix("after_") or 0)
        shown = [link for link in links if archived == "both" or link["archived"] == (archived == "on")]
        found, has_more = self.page(shown, start, min(size, 100))
        after = "" if not has_more else "after_0" if self.is_endless else f"after_{start + size}"
        more = f"https://api-ssl.bitly.com{request.path}?search_after={after}" if has_more else ""
        return as_json({"links": [*found], "pagination": {"next": more, "search_after": after, "size": size}})
