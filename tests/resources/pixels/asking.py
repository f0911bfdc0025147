"""Asking the pixels API."""

import json
from typing import Any

import httpx
from people import Person
from resources.links.env import Env

NEW = {"platform": "facebook", "name": "Spring", "pixel_id": "1234567890"}
SHOWN = ["id", "platform", "name", "created_at", "updated_at"]


async def ask(env: Env, method: str, path: str = "", who: Person | None = None, **rest: Any) -> httpx.Response:
    headers = (who or env.alice).headers
    return await env.client.request(method, f"/api/v1/pixels{path}", headers=headers, **rest)


async def post(env: Env, fields: dict[str, Any], who: Person | None = None) -> httpx.Response:
    return await ask(env, "POST", "", who, content=json.dumps(fields))  # in ASCII: a lone surrogate, too


async def patch(env: Env, pixel: dict[str, Any], fields: dict[str, Any], who: Person | None = None) -> httpx.Response:
    return await ask(env, "PATCH", f"/{pixel['id']}", who, content=json.dumps(fields))


async def make(env: Env, who: Person | None = None, **fields: Any) -> dict[str, Any]:
    answer = await post(env, NEW | fields, who)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]
