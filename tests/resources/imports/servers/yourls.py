"""The API of YOURLS 1.9."""

from typing import Any

from resources.imports.servers.scripted import Answer, Request, ScriptedService, as_json

SIGNATURE, PASSWORD = "1002a612b4", "somebody:s3cret:x"


def yourls_link(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "shorturl": f"https://sho.example.com/page{number}",
        "url": f"https://www.example.com/{number}",
        "title": f"Page {number}",
        "timestamp": "2020-07-01 12:00:00",
        "ip": "203.0.113.7",
        "clicks": "0",
        **fields,
    }


class Yourls(ScriptedService):
    """Newest first. Lists without rows have no `links`."""

    def __init__(self, *links: dict[str, Any], base: str = "") -> None:
        super().__init__()
        self.links = [*links]
        """Oldest first."""
        self.base = base

    def answer(self, request: Request) -> Answer:
        query = request.query
        login = f"{query.get('username')}:{query.get('password')}"
        if request.path != f"{self.base}/yourls-api.php":
            return Answer(404, b"<h1>Not Found</h1>", {"Content-Type": "text/html"})
        if query.get("signature") != SIGNATURE and login != PASSWORD:
            return as_json({"message": "Please log in", "errorCode": 403}, 403)
        if (query.get("action"), query.get("filter"), query.get("format")) != ("stats", "last", "json"):
            return as_json({"message": 'Unknown or missing "action" parameter', "errorCode": 400}, 400)
        found, _ = self.page(self.links[::-1], int(query.get("start", 0)), int(query["limit"]))
        links = {f"link_{number}": link for number, link in enumerate(found, 1)}
        total = len(self.links) if not self.is_endless else 10**9
        stats = {"total_links": str(total), "total_clicks": "0"}
        return as_json({**({"links": links} if links else {}), "stats": stats, "statusCode": 200, "message": "success"})
