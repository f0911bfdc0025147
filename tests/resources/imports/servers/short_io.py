"""Short.io's API."""

from typing import Any

from resources.imports.servers.scripted import TOKEN, Answer, Request, ScriptedService, as_json

DOMAIN = 40_001


def short_io_link(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "idString": f"lnk_{number}",
        "id": f"lnk_{number}",
        "path": f"page{number}",
        "originalURL": f"https://www.example.com/{number}",
        "shortURL": f"https://go.example.com/page{number}",
        "title": None,
        "tags": [],
        "createdAt": "2022-05-06T07:08:09.000Z",
        "archived": False,
        "expiresAt": None,
        "hasPassword": False,
        "cloaking": False,
        "skipQS": False,
        **fields,
    }


class ShortIo(ScriptedService):
    def __init__(self, *links: dict[str, Any], token: str = TOKEN) -> None:
        super().__init__()
        self.token = token
        self.domains: dict[int, list[dict[str, Any]]] = {DOMAIN: [*links]}
        self.hostnames = {DOMAIN: "go.example.com"}
        self.case_sensitive = True
        self.countries: dict[str, list[dict[str, Any]]] | None = {}
        """Destinations by country, by link. None: the plan has none."""

    def answer(self, request: Request) -> Answer:
        if request.headers.get("Authorization") != self.token:  # without "Bearer"
            return as_json({"error": "Unauthorized"}, 401)
        match request.path:
            case "/api/domains":
                return as_json(
                    [
                        {"id": each, "hostname": self.hostnames[each], "caseSensitive": self.case_sensitive}
                        for each in self.domains
                    ]
                )
            case "/api/links":
                links = self.domains.get(int(request.query["domain_id"]))
                return as_json({"error": "Domain not found"}, 404) if links is None else self._links(links, request)
            case path if path.startswith("/link_country/"):
                return self._countries(path.rpartition("/")[2], request)
            case _:
                return as_json({"error": "Not found"}, 404)

    def _countries(self, link_id: str, request: Request) -> Answer:
        if self.countries is None:
            return as_json({"error": "Payment required"}, 402)
        if not any(link["idString"] == link_id for link in self.domains[int(request.query["domainId"])]):
            return as_json({"error": "Link not found"}, 404)
        return as_json(self.countries.get(link_id, []))

    def _links(self, links: list[dict[str, Any]], request: Request) -> Answer:
        size = min(int(request.query.get("limit", 50)), 150)
        start = int(request.query.get("pageToken", "0").removeprefix("token"))
        found, has_more = self.page(links, start, size)
        following = {"nextPageToken": f"token{0 if self.is_endless else start + size}"} if has_more else {}
        return as_json({"count": len(links), "links": [*found], **following})
