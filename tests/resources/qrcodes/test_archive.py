"""POST /v1/qrcodes/archive"""

import asyncio
import csv
import io
import zipfile
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import zxingcpp
from domains import domain
from PIL import Image
from resources.clicks.visited import new_link
from resources.links.added import add_links
from resources.links.env import SHARED, faults
from resources.qrcodes.codes_env import Env
from sqlalchemy import select
from statements import noted

from bench.qr_readers import printed
from waypost.resources.domains.logos import store as logos
from waypost.resources.domains.logos.model import Logo
from waypost.resources.links.model import links as link_rows
from waypost.resources.qrcodes.archive import write_archive

PATH = "/api/v1/qrcodes/archive"


async def ask(env: Env, **body: Any) -> httpx.Response:
    return await env.client.post(PATH, headers=env.links.alice.headers, json=body)


async def unpacked(env: Env, **body: Any) -> dict[str, bytes]:
    answer = await ask(env, **body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    return contents(answer.content)


def contents(file: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def rows(files: dict[str, bytes]) -> list[list[str]]:
    return list(csv.reader(io.StringIO(files["codes.csv"].decode(), newline="")))


def read(png: bytes) -> str:
    [found] = zxingcpp.read_barcodes(Image.open(io.BytesIO(png)))
    return found.text


async def test_has_the_images_of_the_ids_and_a_list(env: Env) -> None:
    first, second = await env.links.make(slug="Spring", title="=cmd|' /C calc'!A0"), await env.links.make(slug="con")
    await env.set(second, foreground="#7a1f5c", style="dots", size=300)
    files = await unpacked(env, ids=[second["id"], first["id"], second["id"]])
    assert rows(files) == [
        ["file", "link_id", "short_url", "title"],
        ["_con.png", second["id"], f"{SHARED}/con", second["title"]],
        ["Spring.png", first["id"], f"{SHARED}/Spring", "'=cmd|' /C calc'!A0"],
    ]
    assert list(files) == ["_con.png", "Spring.png", "codes.csv"]
    assert read(files["Spring.png"]) == f"http://{SHARED}/Spring?r=qr"
    image = Image.open(io.BytesIO(files["_con.png"])).convert("RGB")
    assert (image.size, image.getpixel((36, 36))) == ((300, 300), (0x7A, 0x1F, 0x5C))


async def test_selects_by_tag_or_domain_with_names_and_formats(env: Env) -> None:
    old = await env.links.make(slug="old", tags=["sale"], title="Same")
    new = await env.links.make(slug="new", tags=["sale", "b"], title="same")
    await domain(env.deps.db, env.links.alice.account_id, "brand.example")
    own = await env.links.make(slug="own", hostname="brand.example", title="Own: one")
    files = await unpacked(env, tag="sale", format="svg", name="{title}")
    assert list(files) == ["same.svg", "Same (2).svg", "codes.csv"]
    assert [row[1] for row in rows(files)[1:]] == [new["id"], old["id"]], "newest first"
    assert files["same.svg"].startswith(b"<svg ")
    files = await unpacked(env, hostname="Brand.Example", format="pdf", name="{hostname} {title}")
    assert list(files) == ["brand.example Own_ one.pdf", "codes.csv"]
    [page] = printed(files["brand.example Own_ one.pdf"], "-r", "300")
    assert read(page) == "http://brand.example/own?r=qr"
    assert rows(files)[1][1] == own["id"]
    assert len(await unpacked(env, hostname=SHARED)) == 3


@pytest.mark.parametrize("image_format", ["png", "svg", "pdf"])
async def test_images_are_those_of_their_urls_with_logos_and_frames(env: Env, image_format: str) -> None:
    account = env.links.alice.account_id
    await domain(env.deps.db, account, "brand.example")
    links = [await env.links.make(slug="own", hostname="brand.example"), await env.links.make(slug="shared")]
    for number, color in enumerate(("#d00000", "#0000d0")):
        content = io.BytesIO()
        Image.new("RGB", (40, 30), color).save(content, "PNG")
        async with env.deps.db.write() as tx:
            owner = (
                account if number else await tx.scalar(select(link_rows.c.domain_id).where(link_rows.c.slug == "own"))
            )
            logo = Logo(owner, f"{number}.png", 40, 30, None, env.clock())
            await logos.save(tx, account, logo, content.getvalue())
    codes = [await env.set(link, logo=True, frame="bottom", frame_text="Größe") for link in links]
    codes += [await env.find(await env.links.make(slug="plain"))]
    with noted() as statements:
        files = await unpacked(env, ids=[code["link_id"] for code in codes], format=image_format)
    assert sum("FROM logos" in sql for sql, _ in statements) == 2, "one for each logo, which may be replaced"
    names = ("own", "shared", "plain")
    url = {"png": "image_url"}.get(image_format, f"{image_format}_url")
    for name, code in zip(names, codes, strict=True):
        assert files[f"{name}.{image_format}"] == (await env.image(code[url])).content, name
    assert len({files[f"{name}.{image_format}"] for name in names}) == 3


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"ids": "Send one of ids, tag and hostname"}),
        ({"tag": "a", "hostname": "b.example"}, dict.fromkeys(["tag", "hostname"], "Send one of ids, tag")),
        ({"ids": [str(uuid4())], "tag": "a"}, dict.fromkeys(["ids", "tag"], "Send one of ids, tag")),
        ({"hostname": ""}, {"hostname": "This must not be blank."}),
        ({"tag": " "}, {"tag": "This must not be blank."}),
        ({"ids": []}, {"ids": "This must have at least 1"}),
        ({"ids": [str(uuid4())] * 1001}, {"ids": "This must have at most 1,000"}),
        ({"tag": "nothing"}, {"tag": "No link matches this."}),
        ({"hostname": "other.example"}, {"hostname": "No link matches this."}),
        ({"tag": "a", "format": "gif"}, {"format": "This must be one of: png, svg, pdf."}),
        ({"tag": "a", "name": "{slug"}, {"name": "Braces contain one of"}),
        ({"tag": "a", "name": " "}, {"name": "This must not be blank."}),
        ({"tag": "a", "name": "a" * 256}, {"name": "This must have at most 255"}),
        ({"tag": "a", "name": "\u202e\n"}, {"name": "This must not contain control"}),
    ],
    ids=range(14),
)
async def test_reports_what_is_wrong(env: Env, body: dict[str, Any], errors: dict[str, str]) -> None:
    await env.links.make(slug="other")
    answer = await ask(env, **body)
    assert {name: text[: len(errors.get(name, ""))] for name, [text] in faults(answer).items()} == errors


async def test_ids_of_others_are_refused_like_unknown_ones(env: Env) -> None:
    own, gone = await env.links.make(), await env.links.make()
    await env.links.delete(gone)
    foreign = new_link(env.bob.account_id)
    async with env.deps.db.write() as tx:
        await add_links(tx, [foreign])
    answer = await ask(env, ids=[own["id"], str(foreign.id), str(uuid4()), "1", gone["id"]])
    assert faults(answer) == {f"ids.{number}": ["This account has no link with this ID."] for number in (1, 2, 3, 4)}


async def test_more_than_a_thousand_matches_are_refused(env: Env) -> None:
    async with env.deps.db.write() as tx:
        await add_links(tx, [new_link(env.links.alice.account_id) for _ in range(1001)])
    assert faults(await ask(env, hostname=SHARED))["hostname"][0].startswith("More than 1,000 links match")


async def test_leaves_out_links_that_are_deleted_meanwhile(env: Env) -> None:
    links = [await env.links.make(slug=f"link-{number}") for number in range(52)]
    ids = [UUID(link["id"]) for link in links]
    parts = write_archive(env.deps, env.links.alice.account_id, ids, "svg", "{slug}")
    file = await anext(parts)
    await env.links.delete(links[51])  # of the second batch
    files = contents(file + b"".join([part async for part in parts]))
    assert list(files) == [*(f"link-{number}.svg" for number in range(51)), "codes.csv"]
    assert [row[0] for row in rows(files)[1:]] == list(files)[:-1]


async def test_an_account_gets_one_at_a_time(env: Env) -> None:
    link = await env.links.make()
    end = await env.deps.turns.take(env.links.alice.account_id)
    waiting = [asyncio.create_task(ask(env, ids=[link["id"]])) for _ in range(2)]
    await env.find(link)  # a request that was sent later
    assert not any(task.done() for task in waiting)
    end()
    assert [(await task).status_code for task in waiting] == [200, 200]
    await env.deps.turns.take(env.links.alice.account_id)
    env.deps.turns.timeout = 0
    refused = await ask(env, ids=[link["id"]])
    assert (refused.status_code, refused.headers["retry-after"]) == (409, "1")
    assert "Wait until it has finished" in refused.json()["error"]["message"]


async def test_others_are_drawn_between_its_codes(env: Env) -> None:
    links = [await env.links.make() for _ in range(3)]
    ids = [UUID(link["id"]) for link in links]
    url = (await env.find(await env.links.make()))["image_url"]
    parts = write_archive(env.deps, env.bob.account_id, [], "png", "{slug}")
    assert contents(b"".join([part async for part in parts])).keys() == {"codes.csv"}
    parts = write_archive(env.deps, env.links.alice.account_id, ids, "png", "{slug}")
    await anext(parts)
    assert (await asyncio.wait_for(env.image(url), 60)).status_code == 200, "nothing is held between two codes"
    await parts.aclose()
