"""People who sign up and in, and the emails that they get."""

import io
import re
import zipfile
from typing import Any

import httpx
from browsing import BASE_URL, Browser, WebApp
from claimed import claimed_row
from sqlalchemy import select

from waypost import mail
from waypost.accounts.auth_deps import new_deps
from waypost.accounts.model import accounts, people
from waypost.accounts.sign_in import service as sign_in
from waypost.worker.jobs import Job, JobKind
from waypost.worker.jobs import jobs as job_rows

PASSWORD, OTHER = "four plain words suffice", "five other words are fine"
HOSTILE = '"><script>alert(1)</script>'


async def signed_up(place: WebApp, email: str = "ada@example.com") -> Browser:
    browser = await place.browser()
    fields = {"name": "Ada", "email": email, "password": PASSWORD}
    answer = await browser.post("/signup", fields)
    if place.settings.smtp_url:
        assert "Check your email" in answer.text
        answer = await browser.post("/login", fields)
    assert answer.status_code == 303, answer.text
    return browser


async def signed_in(place: WebApp, password: str = PASSWORD, email: str = "ada@example.com") -> httpx.Response:
    return await (await place.browser()).post("/login", {"email": email, "password": password})


async def mails(place: WebApp) -> list[dict[str, str]]:
    """After the jobs that write some, oldest first."""
    for job in await due(place, sign_in.JOB):
        await sign_in.send_password_reset(new_deps(place.settings, place.db, place.clock), job)
    return [job.payload for job in await due(place, mail.JOB, keep=True)]


async def due(place: WebApp, kind: JobKind, *, keep: bool = False) -> list[Job]:
    async with place.db.write() as tx:
        rows = (await tx.execute(select(job_rows).where(job_rows.c.name == kind.name).order_by(job_rows.c.id))).all()
        if not keep:
            await tx.execute(job_rows.delete().where(job_rows.c.name == kind.name))
    return [claimed_row(row) for row in rows]


def way(mail: dict[str, str]) -> str:
    found = re.search(rf"{BASE_URL}(/\w+/[\w-]+)", mail["text"])
    assert found, mail
    return found[1]


async def rows(place: WebApp, statement: Any) -> list[Any]:
    async with place.db.read() as tx:
        return list((await tx.execute(statement)).all())


async def owner(place: WebApp, email: str = "ada@example.com") -> Any:
    return (await rows(place, select(people).where(people.c.email == email)))[0]


async def owned(place: WebApp, email: str = "ada@example.com") -> Any:
    return (await rows(place, select(accounts).where(accounts.c.email == email)))[0]


async def exported(browser: Browser) -> dict[str, str]:
    answer = await browser.post("/account/data/export")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}
