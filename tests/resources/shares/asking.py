"""Asking the shares API."""

from dataclasses import dataclass
from typing import Any

import httpx
from browsing import Browser, WebApp
from people import new_key
from resources.clicks.test_dashboard import link_of

from waypost.resources.links import Link

FIELDS = [
    "id", "name", "link_id", "tag", "hostname", "filters", "from", "to", "has_password", "expires_at", "hide_below",
    "embed_origins", "url", "embed_url", "created_at", "updated_at",
]  # fmt: skip


@dataclass
class Sharer:
    """Ada, who shares statistics."""

    place: WebApp
    browser: Browser
    headers: dict[str, str]

    async def ask(self, method: str, path: str = "", **rest: Any) -> httpx.Response:
        headers = {**self.headers, **rest.pop("headers", {})}
        return await self.browser.client.request(method, f"/api/v1/shares{path}", headers=headers, **rest)

    async def share(self, **fields: Any) -> dict[str, Any]:
        answer = await self.ask("POST", json={"name": "Spring"} | fields)
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]

    async def tag(self, method: str, old: str, **sent: Any) -> None:
        """Change or delete the tag of this name."""
        client, headers = self.browser.client, self.headers
        found = (await client.get("/api/v1/tags", headers=headers)).json()["data"]
        id_ = next(each["id"] for each in found if each["name"] == old)
        answer = await client.request(method, f"/api/v1/tags/{id_}", headers=headers, json=sent or None)
        assert answer.is_success, answer.text

    async def link(self, **fields: Any) -> Link:
        return await link_of(self.place, self.browser, **fields)


async def new_sharer(place: WebApp, name: str = "ada", scopes: list[str] | None = None) -> Sharer:
    browser = await place.browser(f"{name}@example.com")
    return Sharer(place, browser, await key_of(place, browser, scopes or ["links:read", "links:write"]))


async def key_of(place: WebApp, browser: Browser, scopes: list[str]) -> dict[str, str]:
    assert browser.account
    return (await new_key(place.db, browser.account.id, scopes=scopes)).headers
