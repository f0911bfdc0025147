"""`waypost account sign-in-link` and `account invite`, as an operator runs them, and what the links are good for."""

import re
from pathlib import Path

import httpx
from browsing import SAME_ORIGIN
from forked import alone
from test_cli import Waypost

from waypost.settings import Settings
from waypost.web_app import open_full_app

PASSWORD = "four plain words suffice"


async def test_invites_and_prints_sign_in_links(tmp_path: Path, sqlite_template: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "waypost.db").write_bytes(sqlite_template.read_bytes())
    waypost = Waypost(tmp_path)
    assert (
        "Nobody signs in with ada@example.com" in waypost("account", "sign-in-link", "ada@example.com", code=1).stderr
    )
    invited = waypost.json("account", "invite", "Ada@Example.com", by=alone)
    assert invited["email"] == "ada@example.com"

    settings = Settings(data_dir=tmp_path / "data", secret_key="a key")
    async with open_full_app(settings) as web:
        transport = httpx.ASGITransport(web.app)
        async with httpx.AsyncClient(transport=transport, base_url=settings.base_url, headers=SAME_ORIGIN) as client:
            answer = await client.post(invited["url"], data={"name": "Ada", "password": PASSWORD})
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
            await client.post("/logout")
            assert "already" in waypost("account", "invite", "ada@example.com", code=1).stderr
            no_factor = waypost("account", "remove-second-factor", "ada@example.com", code=1).stderr
            assert "ada@example.com has no second factor." in no_factor
            message = waypost("account", "sign-in-link", "ada@example.com", by=alone).stdout
            (url,) = re.findall(r"^url: (http://localhost:8000/enter/[\w-]+)$", message, re.MULTILINE)
            assert (await client.post(url, data={"timezone": "UTC"})).headers["location"] == "/"
            assert "ada@example.com" in (await client.get("/account")).text
