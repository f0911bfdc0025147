"""GET /v1/qrcodes/{id}/image/{format}: by its URL as it was given, and by no other."""

import io
from pathlib import Path
from uuid import UUID

import httpx
import pytest
import zxingcpp
from domains import domain
from people import BASE_URL, new_client
from PIL import Image
from resources.links.env import SHARED
from resources.qrcodes.codes_env import KEY, Env
from sqlalchemy import update

from waypost.resources.links.model import links
from waypost.resources.qrcodes import api, image_cache
from waypost.resources.qrcodes.image_urls import Urls
from waypost.resources.qrcodes.style import CodeStyle, parse_style, style_text


def read(png: bytes) -> str:
    [found] = zxingcpp.read_barcodes(Image.open(io.BytesIO(png)))
    return found.text


def refused(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.request.url


async def test_serves_png_svg_and_pdf(env: Env) -> None:
    link = await env.links.make(slug="Spring_1")
    code = await env.find(link)
    png, svg, pdf = [await env.image(code[name]) for name in ("image_url", "svg_url", "pdf_url")]
    assert read(png.content) == f"http://{SHARED}/Spring_1?r=qr"
    assert svg.text.startswith("<svg ")
    assert pdf.content.startswith(b"%PDF-")
    kinds = "image/png", "image/svg+xml", "application/pdf"
    for answer, kind, ending in zip((png, svg, pdf), kinds, ("png", "svg", "pdf"), strict=True):
        assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
        assert answer.headers["cache-control"] == "public, max-age=86400"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        shown = "attachment" if ending == "pdf" else "inline"
        assert answer.headers["content-disposition"] == f'{shown}; filename="Spring_1.{ending}"'
        assert "x-ratelimit-limit" not in answer.headers
        head = await env.image(str(answer.request.url), "HEAD")
        assert (head.status_code, head.headers, head.content) == (200, answer.headers, b"")
    assert [image.format for image in env.drawn] == ["png", "svg", "pdf"]


async def test_rejects_any_changed_url(env: Env) -> None:
    code = await env.find(await env.links.make())
    other = await env.find(await env.links.make())
    url = code["image_url"]
    start, signature = url.rpartition("&signature=")[::2]
    path, query = start.split("?")
    assert (await env.image(url)).status_code == 200
    for wrong in (
        path,
        start,
        f"{path}?",
        f"{path}?signature={signature}",
        f"{start}&signature=",
        f"{start}&signature={signature[:-1]}",
        f"{start}&signature={signature[:-1]}{'1' if signature.endswith('0') else '0'}",
        f"{start}&signature={signature.upper()}",
        f"{start}&signature={'é' * 32}",
        f"{url}&x=1",
        f"{url}&",
        f"{url}&signature={signature}",
        f"{start}&x=1&signature={signature}",
        f"{path}?signature={signature}&{query}",
        f"{path}?{query.replace('v=', 'v=%')}&signature={signature}",
        f"{path}?{query.replace('-', '%2D')}&signature={signature}",
        f"{path}?{query.replace('512', '513')}&signature={signature}",
        url.replace("image/png", "image/svg"),
        url.replace("image/png", "image/%70ng"),
        url.replace(code["id"], code["id"].upper()),
        url.replace(code["id"], other["id"]),
        url.replace(code["id"], code["id"].replace("-", "")),
        url.replace(code["id"], "1"),
        Urls("", [b"another key"]).sign(UUID(code["id"]), CodeStyle(), "png"),
    ):
        answer = await env.image(wrong)
        refused(answer, 403, "forbidden")
        assert "exactly as the API returned it" in answer.json()["error"]["message"]
    assert len(env.drawn) == 1


async def test_other_formats_are_not_found(env: Env) -> None:
    url = (await env.find(await env.links.make()))["image_url"]
    for form in ("gif", "PNG", "png.svg", "jpeg"):
        refused(await env.image(url.replace("image/png", f"image/{form}")), 404, "not_found")
    refused(await env.image(url, "POST"), 405, "method_not_allowed")


async def test_an_image_ends_with_its_link(env: Env) -> None:
    link = await env.links.make()
    code = await env.find(link)
    etag = (await env.image(code["image_url"])).headers["etag"]
    await env.links.delete(link)
    for headers in ({}, {"If_None_Match": etag}):
        refused(await env.image(code["image_url"], **headers), 404, "not_found")
    for name in ("svg_url", "pdf_url"):
        refused(await env.image(code[name]), 404, "not_found")


async def test_an_image_keeps_its_style_and_follows_its_link(env: Env) -> None:
    link = await env.links.make()
    first = await env.find(link)
    before = await env.image(first["image_url"])
    second = await env.set(link, foreground="#1d3557", size=256)
    assert (await env.image(first["image_url"])).content == before.content
    assert Image.open(io.BytesIO((await env.image(second["image_url"])).content)).size == (256, 256)
    await env.links.changed(link, slug="renamed")
    after = await env.image(first["image_url"])
    assert read(after.content) == f"http://{SHARED}/renamed?r=qr"
    assert after.headers["etag"] != before.headers["etag"]
    own = await domain(env.deps.db, env.links.alice.account_id, "brand.example")
    async with env.deps.db.write() as tx:
        await tx.execute(update(links).values(domain_id=own))
    assert read((await env.image(first["image_url"])).content) == "http://brand.example/renamed?r=qr"
    assert (await env.find(link))["image_url"] == second["image_url"]


async def test_answers_304_for_a_cached_image(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    code = await env.find(await env.links.make())
    url = code["image_url"]
    etag = (await env.image(url)).headers["etag"]
    other = (await env.image(code["svg_url"])).headers["etag"]
    assert etag != other
    env.drawn.clear()
    for same in (etag, f"W/{etag}", "*", f'"x", {etag}', f'W/"x",W/{etag} , "y"'):
        answer = await env.image(url, If_None_Match=same)
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag), same
        assert answer.headers["cache-control"] == "public, max-age=86400"
    for another in (other, etag.strip('"'), '""', ""):
        assert (await env.image(url, If_None_Match=another)).status_code == 200
    assert env.drawn == []
    refused(await env.image(f"{url}&x=1", If_None_Match="*"), 403, "forbidden")
    monkeypatch.setattr(image_cache, "DRAWING_VERSION", image_cache.DRAWING_VERSION + 1)
    assert (await env.image(url, If_None_Match=etag)).headers["etag"] != etag


async def test_urls_of_earlier_versions_mean_the_defaults_of_newer_fields(env: Env) -> None:
    code = await env.find(await env.links.make())
    old = style_text(CodeStyle())
    assert (old, parse_style(old)) == ("000000-ffffff-M-squares-512-4", CodeStyle())
    assert f"v={old}&" in code["image_url"], "unchanged styles keep their URLs"
    wide = CodeStyle(width_mm=55)
    assert parse_style(style_text(wide)) == wide


async def test_urls_survive_key_rotation(env: Env) -> None:
    code = await env.find(await env.links.make())
    urls = env.deps.urls
    urls._keys = [b"the new one", KEY]
    assert (await env.image(code["image_url"])).status_code == 200
    new = await env.find({"id": code["link_id"]})
    assert new["image_url"] != code["image_url"]
    urls._keys = [b"the new one"]
    assert (await env.image(new["image_url"])).status_code == 200
    refused(await env.image(code["image_url"]), 403, "forbidden")


async def test_draws_nothing_over_plain_http(env: Env, tmp_path: Path) -> None:
    code = await env.find(await env.links.make())
    path = code["image_url"].partition(BASE_URL)[2]
    group = env.deps, api.ENDPOINTS
    async with new_client(env.links.deps.db, tmp_path, group, base_url="https://app.test") as secure:
        refused(await secure.get(f"http://app.test{path}"), 400, "http_error")
        assert env.drawn == []
        assert (await secure.get(path)).status_code == 200
