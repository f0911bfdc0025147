"""GET /links/card-image: images of public hosts for signed-in users, and nothing else for anybody."""

import io
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
import servers
from browsing import Browser, WebApp, open_place
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from servers import ALLOW, PRIVATE, Receiver, always, redirect, response

from waypost.resources.links.images.media import MAX_BYTES

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>harm()</script></svg>'


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    """Takes 127.0.0.2 for the public internet."""
    async with open_place(database_url, tmp_path, outbound_allow=ALLOW) as opened:
        yield opened


def image_bytes(kind: str = "PNG") -> bytes:
    """With something in it that is nobody's business."""
    file, metadata = io.BytesIO(), PngInfo()
    metadata.add_text("Comment", "where it was taken")
    Image.new("RGB", (40, 21), "teal").save(file, kind, **({"pnginfo": metadata} if kind == "PNG" else {}))
    return file.getvalue()


async def ask(browser: Browser, url: str, **headers: str) -> httpx.Response:
    return await browser.get(f"/links/card-image?url={quote(url, safe='')}", headers=headers)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
async def test_serves_the_re_encoded_image(place: WebApp, kind: str) -> None:
    ada = await place.browser("ada@example.com")
    script = always(response(200, image_bytes(kind), content_type=f"image/{kind.lower()}"))
    async with Receiver(script) as site, Receiver(redirect(site.url("/card"))) as moved:
        answer = await ask(ada, moved.url("/old?a=1&b=2"), **{"Sec-Fetch-Site": "same-origin"})
        assert (answer.status_code, answer.headers["content-type"]) == (200, f"image/{kind.lower()}")
        assert b"GET /old?a=1&b=2 " in moved.heads[0]
        for head in (*site.heads, *moved.heads):
            assert not {b"cookie", b"referer", b"authorization"} & {
                line.partition(b":")[0] for line in head.lower().split(b"\r\n")
            }
    assert Image.open(io.BytesIO(answer.content)).size == (40, 21)
    assert b"where it was taken" not in answer.content
    answers = {name: answer.headers[name] for name in ("content-security-policy", "x-content-type-options")}
    assert answers == {"content-security-policy": "sandbox; default-src 'none'", "x-content-type-options": "nosniff"}
    assert answer.headers["cache-control"] == "private, max-age=3600"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


async def test_every_failure_is_the_same_404(place: WebApp) -> None:
    """So that nobody learns which addresses of the inside answer."""
    ada = await place.browser("ada@example.com")
    answers: dict[str, httpx.Response] = {}
    for name, answer in {
        "svg": response(200, SVG, content_type="image/svg+xml"),
        "svg that says it is a png": response(200, SVG, content_type="image/png"),
        "page": response(200, b"<title>x</title>", content_type="text/html"),
        "without a type": response(200, image_bytes()),
        "too much": response(200, image_bytes() + bytes(MAX_BYTES), content_type="image/png"),
        "not there": response(404, image_bytes(), content_type="image/png"),
        "broken": response(500, image_bytes(), content_type="image/png"),
        "cut off": response(200, image_bytes()[:40], content_type="image/png"),
        "nothing": response(200, content_type="image/png"),
    }.items():
        async with Receiver(always(answer)) as site:
            answers[name] = await ask(ada, site.url())
            assert site.connections == 1, name
    gone = site.url()
    async with servers.canary() as inside, Receiver(redirect(inside.url())) as site:
        for url in (inside.url(), f"http://localhost:{inside.port}/", site.url(), f"http://[::ffff:{PRIVATE}]/"):
            answers[url] = await ask(ada, url)
        for url in (
            "",
            "x",
            "file:///etc/passwd",
            f"data:image/png,{image_bytes()[:9]!r}",
            site.url("/" * 3_000),
            gone,
        ):
            answers[url or "blank"] = await ask(ada, url)
        assert inside.connections == 0
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(answers, 404)
    assert len({answer.text for answer in answers.values()}) == 1
    assert len({tuple(sorted(answer.headers.items())) for answer in answers.values()}) == 1
    async with Receiver(always(response(200, image_bytes(), content_type="image/png"))) as site:
        assert [(await ask(ada, site.url())).status_code for _ in range(2)] == [200, 429]


async def test_refuses_strangers_and_other_sites(place: WebApp) -> None:
    nobody, ada = await place.browser(), await place.browser("ada@example.com")
    lapsed = await place.browser("bob@example.com", plan="none")
    async with Receiver(always(response(200, image_bytes(), content_type="image/png"))) as site:
        assert (await ask(nobody, site.url())).headers["location"].startswith("/login")
        assert (await ask(lapsed, site.url())).status_code == 404
        for elsewhere in ("cross-site", "same-site", "none"):
            assert (await ask(ada, site.url(), **{"Sec-Fetch-Site": elsewhere})).status_code == 404
        assert site.connections == 0


async def test_the_form_shows_the_card_image(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    head = b'<meta property="og:image" content="/card.png?a=1&amp;b=%22%3E"><title>x</title>'
    async with Receiver(always(response(200, head, content_type="text/html"))) as site:
        card = await ada.post("/links/preview", {"destination_url": site.url()})
        assert f'src="/links/card-image?url={quote(site.url("/card.png?a=1&b=%22%3E"))}"' in card.text
    hostile = '"><img src=x onerror=harm()>'
    typed = await ada.post("/links/new", {"destination_url": "https://a.example", "og_image": hostile})
    assert (typed.status_code, "<img src=x" in typed.text) == (422, False)
    assert f"card-image?url={quote(hostile)}" in typed.text
