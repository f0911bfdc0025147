"""The API of a Shlink whose short URLs have equally many visits, for `bench.imported_visits`."""

import asyncio
import json
import re
import sys
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bench.user_agents import agents

_LAST = datetime(2026, 6, 1, tzinfo=UTC)
_COUNTRIES = ("DE", "FR", "US", "GB", "ES", "JP", "BR", None)
_REFERRERS = ("", "https://t.co/abc", "https://www.example.com/blog", "https://news.example.org/")
_VISITS = re.compile(r"/rest/v3/short-urls/page(\d+)/visits")


class Shlink:
    def __init__(self, short_urls: int, visits: int) -> None:
        """`visits`: of each short URL."""
        self._short_urls = short_urls
        self._visits = visits
        self._agents = [agent.raw.decode(errors="replace") for agent in agents()]

    def answer(self, target: str) -> dict[str, Any]:
        parts = urlsplit(target)
        query = {name: int(values[0]) for name, values in parse_qs(parts.query).items() if values[0].isdigit()}
        page, size = query.get("page", 1), query.get("itemsPerPage", 10)
        visits = _VISITS.fullmatch(parts.path)
        name, total = ("visits", self._visits) if visits else ("shortUrls", self._short_urls)
        numbers = range((page - 1) * size, min(page * size, total))
        data = [self._visit(int(visits[1]), number) if visits else self._short_url(number) for number in numbers]
        pagination = {
            "currentPage": page,
            "pagesCount": -(-total // size),
            "itemsPerPage": size,
            "itemsInCurrentPage": len(data),
            "totalItems": total,
        }
        return {name: {"data": data, "pagination": pagination}}

    def _short_url(self, number: int) -> dict[str, Any]:
        return {
            "shortCode": f"page{number}",
            "shortUrl": f"https://go.example.com/page{number}",
            "longUrl": f"https://www.example.com/{number}",
            "dateCreated": "2025-01-01T00:00:00+00:00",
            "tags": ["moved"],
            "meta": {"validSince": None, "validUntil": None, "maxVisits": None},
            "domain": None,
            "title": f"Page {number}",
            "visitsSummary": {"total": self._visits, "nonBots": self._visits, "bots": 0},
            "hasRedirectRules": False,
        }

    def _visit(self, short_url: int, number: int) -> dict[str, Any]:
        """Spread over half a year."""
        mixed = short_url * 7 + number
        country = _COUNTRIES[mixed % len(_COUNTRIES)]
        return {
            "referer": _REFERRERS[mixed % len(_REFERRERS)],
            "date": (_LAST - timedelta(seconds=number * 15_000_000 // self._visits + short_url)).isoformat(),
            "userAgent": self._agents[mixed % len(self._agents)],
            "visitLocation": {"countryCode": country, "cityName": "", "latitude": 0, "longitude": 0}
            if country
            else None,
            "potentialBot": False,
            "visitedUrl": f"https://go.example.com/page{short_url}",
        }


async def main(port: int, short_urls: int, visits: int) -> None:
    shlink = Shlink(short_urls, visits)

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            body = json.dumps(shlink.answer(head.split(b" ")[1].decode())).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n" % len(body))
            writer.write(b"connection: close\r\n\r\n" + body)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
