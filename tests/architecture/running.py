"""Asking the running application: with whose key, for what, and which routes it has."""

import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import httpx
from architecture.facts import PREFIX, Endpoint
from journeys.service import Website
from PIL import Image
from starlette.applications import Starlette
from starlette.routing import Route

from waypost.accounts import PlanChoice, create_account
from waypost.accounts.keys import format as key_format
from waypost.accounts.keys import store as key_store
from waypost.accounts.model import ApiKey
from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.web.endpoint import EndpointTable


def png_of(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


BASE_URL = "http://waypost.test"
RECEIVER = "https://127.0.0.1/hook"
LOGO, OTHER_LOGO = ({"file": png_of(Image.new("RGB", (32, 16), color))} for color in ("red", "blue"))
"""Forms with an image."""
PIXEL = {"platform": "facebook", "name": "A pixel", "pixel_id": "123456"}


@dataclass
class RunningApp:
    client: httpx.AsyncClient
    db: Database
    app: Starlette
    website: Website
    pages: Sequence[str]
    """Paths of the dashboard."""
    forms: Sequence[str]
    """Those that take a POST."""
    latest_hostname: str = ""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    async def account(self, plan: PlanChoice = "lifetime") -> UUID:
        email = f"person{next(self._numbers)}@example.com"
        now = datetime.now(UTC)
        return (await create_account(self.db, email=email, name="P", plan=plan, now=now, trial_days=14)).id

    async def key(self, account: UUID, scopes: Sequence[str], *, created_by: UUID | None = None) -> str:
        """A key with these scopes and no other, even with none at all, which no command would make."""
        text = key_format.generate()
        made = ApiKey(
            new_id(),
            account,
            "key",
            text[: key_format.PREFIX_LENGTH],
            tuple(scopes),
            created_by,
            None,
            None,
            None,
            datetime.now(UTC),
        )
        async with self.db.write() as tx:
            await key_store.add_key(tx, made, key_format.digest(text))
        return text

    async def ask(
        self, key: str | None, endpoint: Endpoint, id_: str = "", inner_id: str = "", **rest: Any
    ) -> httpx.Response:
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        path = PREFIX + endpoint.path.replace("{id}", id_).replace("{external_id}", id_ or "1")
        for name in ("{delivery_id}", "{alias_id}"):
            path = path.replace(name, inner_id or id_)
        return await self.client.request(endpoint.method, path, headers=headers, **rest)

    async def link(self, key: str, **fields: Any) -> dict[str, Any]:
        body = {"destination_url": self.website.url} | fields
        answer = await self.client.post("/api/v1/links", headers={"Authorization": f"Bearer {key}"}, json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]

    async def pixel(self, key: str, **fields: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {key}"}
        answer = await self.client.post("/api/v1/pixels", headers=headers, json=PIXEL | fields)
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]

    async def utm_template(self, key: str) -> dict[str, Any]:
        headers, body = {"Authorization": f"Bearer {key}"}, {"name": f"{uuid4()}", "utm_params": {"utm_source": "a"}}
        answer = await self.client.post("/api/v1/utm-templates", headers=headers, json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]

    async def share(self, key: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {key}"}
        answer = await self.client.post("/api/v1/shares", headers=headers, json={"name": "A"})
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]

    async def tag(self, key: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {key}"}
        answer = await self.client.post("/api/v1/tags", headers=headers, json={"name": f"tag {next(self._numbers)}"})
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]

    def hostname(self) -> str:
        """One that nobody has registered yet."""
        self.latest_hostname = f"go{next(self._numbers)}.brand.test"
        return self.latest_hostname

    async def domain(self, key: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {key}"}
        sent = {"hostname": self.hostname()}
        answer = await self.client.post("/api/v1/domains", headers=headers, json=sent)
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]

    async def alias(self, key: str, link: str) -> str:
        """The id of an alias on the latest domain."""
        body = {"hostname": self.latest_hostname, "path": "alias"}
        headers = {"Authorization": f"Bearer {key}"}
        answer = await self.client.post(f"/api/v1/links/{link}/aliases", headers=headers, json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]["id"]

    async def logo(self, key: str, path: str) -> None:
        answer = await self.client.put(f"/api{path}", headers={"Authorization": f"Bearer {key}"}, files=LOGO)
        assert answer.status_code == 200, answer.text

    async def webhook(self, key: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """A subscription with its secret, and a delivery of it."""
        headers = {"Authorization": f"Bearer {key}"}
        body = {"url": RECEIVER, "event_types": ["link.created"]}
        made = await self.client.post("/api/v1/webhooks", headers=headers, json=body)
        assert made.status_code == 201, made.text
        webhook = made.json()["data"]
        asked = await self.client.post(f"/api/v1/webhooks/{webhook['id']}/test", headers=headers)
        assert asked.status_code == 202, asked.text
        return webhook, asked.json()["data"]


def routes_of(app: Starlette) -> set[tuple[str, str]]:
    """(method, path) of everything the application answers."""
    table = next(route for route in app.routes if isinstance(route, EndpointTable))
    found = {(method, f"{PREFIX}/v1{each.path}") for each in table.endpoints for method in each.methods}
    for route in app.routes:
        if isinstance(route, Route):
            found |= {(method, route.path) for method in route.methods or ["GET"]}
    return found
