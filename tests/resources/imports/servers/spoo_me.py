"""The API of spoo.me, version 1."""

from typing import Any

from resources.imports.servers.scripted import TOKEN, Answer, Request, ScriptedService, as_json


def spoo_me_link(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"{number:024x}",
        "alias": f"page{number}",
        "long_url": f"https://www.example.com/{number}",
        "status": "ACTIVE",
        "created_at": "2024-05-06T07:08:09Z",
        "expire_after": None,
        "starts_at": None,
        "pre_start_url": None,
        "max_clicks": None,
        "private_stats": True,
        "block_bots": None,
        "password_set": False,
        "total_clicks": 0,
        "last_click": None,
        "domain": "spoo.me",
        "geo_rules": None,
        "expired_redirect_url": None,
        "tags": [],
        "ab_variants": None,
        "meta_tags": None,
        **fields,
    }


class SpooMe(ScriptedService):
    def __init__(self, *links: dict[str, Any], token: str = TOKEN) -> None:
        super().__init__()
        self.token = token
        self.links = [*links]
        """Oldest first."""

    def answer(self, request: Request) -> Answer:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return as_json({"error": "invalid or expired token", "code": "AUTHENTICATION_ERROR"}, 401)
        if request.path != "/api/v1/urls":
            return as_json({"error": "not found", "code": "NOT_FOUND"}, 404)
        query = request.query
        page, size = int(query.get("page", 1)), int(query.get("pageSize", 20))
        if size > 100:
            return as_json({"error": "pageSize: at most 100", "code": "VALIDATION_ERROR"}, 400)
        links = self.links if query.get("sortOrder") == "ascending" else self.links[::-1]
        items, has_next = self.page(links, (page - 1) * size, size)
        return as_json(
            {
                "items": items,
                "page": page,
                "pageSize": size,
                "total": len(links),
                "hasNext": has_next,
                "sortBy": "created_at",
                "sortOrder": "ascending",
            }
        )
