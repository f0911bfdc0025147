"""Shlink's API, version 3."""

from typing import Any
from urllib.parse import quote, unquote

from resources.imports.servers.scripted import TOKEN, Answer, Request, ScriptedService, as_json

HOST = "s.example.com"


def short_url(number: int, **fields: Any) -> dict[str, Any]:
    code, host = fields.get("shortCode", f"page{number}"), fields.get("domain") or HOST
    return {
        "shortCode": code,
        "shortUrl": f"https://{host}/{quote(code)}",
        "longUrl": f"https://www.example.com/{number}",
        "dateCreated": "2022-03-04T05:06:07+01:00",
        "tags": [],
        "meta": {"validSince": None, "validUntil": None, "maxVisits": None},
        "domain": None,
        "title": None,
        "crawlable": False,
        "forwardQuery": True,
        "visitsSummary": {"total": 0, "nonBots": 0, "bots": 0},
        "hasRedirectRules": False,
        **fields,
    }


def visit(date: str, **fields: Any) -> dict[str, Any]:
    return {
        "referer": "",
        "date": date,
        "userAgent": "Mozilla/5.0",
        "visitLocation": None,
        "potentialBot": False,
        "visitedUrl": "",
        **fields,
    }


class Shlink(ScriptedService):
    """Sends the newest visits first."""

    def __init__(self, *short_urls: dict[str, Any], token: str = TOKEN) -> None:
        super().__init__()
        self.token = token
        self.short_urls = [*short_urls]
        """Oldest first."""
        self.visits: dict[tuple[str | None, str], list[dict[str, Any]]] = {}
        """By domain and code, oldest first."""
        self.rules: dict[tuple[str | None, str], list[dict[str, Any]]] | None = {}
        """None: a version that has none."""

    def answer(self, request: Request) -> Answer:
        if request.headers.get("X-Api-Key") != self.token:
            return _problem(401, "invalid-api-key")
        path = unquote(request.path).removeprefix("/rest/v3/short-urls")
        if not path:
            is_ascending = request.query.get("orderBy") == "dateCreated-ASC"
            return self._list("shortUrls", self.short_urls if is_ascending else self.short_urls[::-1], request)
        code, _, what = path.removeprefix("/").rpartition("/")
        return self._of_short_url((request.query.get("domain"), code), what, request)

    def _of_short_url(self, key: tuple[str | None, str], what: str, request: Request) -> Answer:
        if not any((each["domain"], each["shortCode"]) == key for each in self.short_urls):
            return _problem(404, "short-url-not-found")
        if what == "visits":
            return self._list("visits", self.visits.get(key, [])[::-1], request)
        if what == "redirect-rules" and self.rules is not None:
            return as_json({"defaultLongUrl": "", "redirectRules": self.rules.get(key, [])})
        return _problem(404, "not-found")

    def _list(self, name: str, found: list[dict[str, Any]], request: Request) -> Answer:
        page, size = int(request.query.get("page", 1)), int(request.query.get("itemsPerPage", 10))
        data, _ = self.page(found, (page - 1) * size, size)
        pagination = {
            "currentPage": page,
            "pagesCount": page + 1 if self.is_endless else -(-len(found) // size),
            "itemsPerPage": size,
            "itemsInCurrentPage": len(data),
            "totalItems": len(found),
        }
        return as_json({name: {"data": data, "pagination": pagination}})


def _problem(status: int, kind: str) -> Answer:
    body = {"type": f"https://shlink.io/api/error/{kind}", "title": kind, "detail": kind, "status": status}
    return as_json(body, status, **{"Content-Type": "application/problem+json"})
