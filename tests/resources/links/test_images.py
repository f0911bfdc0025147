"""Uploaded preview images (R24): what is taken, what is left of it, and how it is served."""

import asyncio
import io
import struct
import threading
import zlib
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from people import BASE_URL
from PIL import Image
from resources.links.env import Env, faults
from structlog.testing import capture_logs

from waypost.kit.fair_queue import Busy
from waypost.kit.ids import new_id
from waypost.resources.links.images import codec as image_codec
from waypost.resources.links.images import encoder
from waypost.resources.links.images.codec import reencode
from waypost.resources.links.images.encoder import ImageReencoder
from waypost.resources.links.images.files import ImageFiles
from waypost.resources.links.images.media import MAX_BYTES, NOT_AN_IMAGE, TOO_LARGE, BadImage, ReencodedImage

START_OF_SCAN = b"\xff\xda"
FORMATS = [("PNG", "png"), ("JPEG", "jpg"), ("WEBP", "webp"), ("GIF", "gif")]


def image_bytes(kind: str = "PNG", size: tuple[int, int] = (40, 20), **options: Any) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(out, kind, **options)
    return out.getvalue()


def animation(kind: str, frames: int = 3, size: tuple[int, int] = (30, 20)) -> bytes:
    out = io.BytesIO()
    drawn = [Image.new("RGBA", size, (0, 0, 0, 0)) for _ in range(frames)]
    for number, frame in enumerate(drawn):
        frame.paste((10 + number, 200, 50, 255), (number % 20, 0, number % 20 + 10, 10))
    drawn[0].save(out, kind, save_all=True, append_images=drawn[1:], duration=70, loop=3, disposal=2, lossless=True)
    return out.getvalue()


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


async def upload(env: Env, content: bytes, *fields: tuple[str, str]) -> dict[str, Any]:
    answer = await env.send_form("POST", "", [("destination_url", env.site.url()), *fields], file=content)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


async def test_hosts_an_uploaded_image(env: Env) -> None:
    link = await upload(env, image_bytes(), ("og_image", "https://example.com/loses.png"))
    url = link["og_image"]
    assert url.startswith(f"{BASE_URL}/media/")
    assert (await env.find(link)).json()["data"]["og_image"] == url
    answer = await env.client.get(url)
    assert answer.status_code == 200
    assert opened(answer.content).size == (40, 20)
    assert {name: answer.headers[name] for name in ("content-type", "x-content-type-options", "cache-control")} == {
        "content-type": "image/png",
        "x-content-type-options": "nosniff",
        "cache-control": "public, max-age=31536000, immutable",
    }
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"


@pytest.mark.parametrize(("kind", "extension"), FORMATS)
def test_keeps_the_format(kind: str, extension: str) -> None:
    image = reencode(image_bytes(kind))
    assert (image.extension, opened(image.content).format, opened(image.content).size) == (extension, kind, (40, 20))


def test_metadata_is_dropped_and_orientation_applied() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    exif[0x010F] = "Secret Camera"
    for kind in ("JPEG", "PNG", "WEBP"):
        content = image_bytes(kind, exif=exif, icc_profile=b"secret profile" * 20, comment=b"Secret comment")
        made = reencode(content).content
        assert opened(made).size == (20, 40), kind
        assert b"secret" not in made.lower(), kind
        assert b"Exif" not in made, kind


def test_drops_data_after_the_image() -> None:
    assert b"<script>" not in reencode(image_bytes("GIF") + b"<script>alert(1)</script>").content


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
def test_animations_stay_animated(kind: str) -> None:
    made = opened(reencode(animation(kind)).content)
    assert (made.format, made.n_frames, made.info["loop"]) == (kind, 3, 3)
    for number in range(3):
        made.seek(number)
        made.load()
        assert made.info["duration"] == 70
        frame = made.convert("RGBA")
        assert frame.getpixel((number + 5, 5))[3] == 255
        assert frame.getpixel((25, 15))[3] == 0, "what was transparent stays so"
        assert frame.getpixel((number - 1, 5))[3] == 0 if number else True, "no trail of the frame before"


def test_accepts_images_at_the_limits() -> None:
    assert opened(reencode(image_bytes("PNG", (image_codec.MAX_SIDE, 3))).content).size == (image_codec.STORED_SIDE, 1)
    assert opened(reencode(animation("GIF", image_codec.MAX_FRAMES, (30, 10))).content).n_frames == 200
    assert opened(reencode(scanned(image_codec.MAX_SCANS)).content).size == (40, 20)


def bomb(width: int, height: int) -> bytes:
    """A small PNG that says it is large, with nothing behind it."""
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def scanned(scans: int) -> bytes:
    """A progressive JPEG whose last scan is said again and again."""
    content = image_bytes("JPEG", progressive=True)
    last = content[content.rindex(START_OF_SCAN) : -2]
    return content[:-2] + last * (scans - content.count(START_OF_SCAN)) + content[-2:]


def growing_gif() -> bytes:
    """Its second frame lies far outside of its first."""
    content = bytearray(animation("GIF", 2))
    at = content.rindex(b",\0\0\0\0")
    content[at + 1 : at + 5] = struct.pack("<HH", 9000, 0)
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", NOT_AN_IMAGE),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", NOT_AN_IMAGE),
        (b"%PDF-1.7", NOT_AN_IMAGE),
        (image_bytes("BMP"), NOT_AN_IMAGE),
        (image_bytes("TIFF"), NOT_AN_IMAGE),
        (image_bytes("PNG")[:-30], NOT_AN_IMAGE),
        (image_bytes("JPEG", (300, 300))[:-400], NOT_AN_IMAGE),
        (image_bytes("WEBP")[:-20], NOT_AN_IMAGE),
        (image_bytes("GIF")[:-20], NOT_AN_IMAGE),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, NOT_AN_IMAGE),
        (b"\0" * (MAX_BYTES + 1), TOO_LARGE),
        (image_bytes("PNG", (8193, 1)), image_codec.TOO_MANY_PIXELS),
        (bomb(5001, 5000), image_codec.TOO_MANY_PIXELS),
        (bomb(8000, 12000), image_codec.TOO_MANY_PIXELS),
        (bomb(50_000, 50_000), image_codec.TOO_MANY_PIXELS),
        (growing_gif, image_codec.TOO_MANY_PIXELS),
        (partial(animation, "GIF", 201, (30, 10)), image_codec.TOO_MANY_FRAMES),
        (partial(animation, "WEBP", 201, (30, 10)), image_codec.TOO_MANY_FRAMES),
        (partial(animation, "GIF", 3, (4500, 4500)), image_codec.TOO_MANY_FRAMES),
        (scanned(image_codec.MAX_SCANS + 1), image_codec.TOO_MANY_SCANS),
    ],
    ids=lambda value: f"{len(value)} bytes" if isinstance(value, bytes) else "",
)
def test_refuses_bad_images(content: bytes | Callable[[], bytes], message: str) -> None:
    """Those that take long to make are made here, and not by each process that collects the tests."""
    with pytest.raises(BadImage) as refused:
        reencode(content if isinstance(content, bytes) else content())
    assert str(refused.value) == message


async def test_does_not_block_the_event_loop() -> None:
    reencoder = ImageReencoder()
    cleaning = asyncio.create_task(reencoder.reencode(image_bytes("PNG", (2000, 2000)), account=new_id()))
    turns = 0
    while not cleaning.done():
        await asyncio.sleep(0)
        turns += 1
    reencoder.close()
    assert turns > 10


async def test_the_queue_of_images_is_short() -> None:
    reencoder, account = ImageReencoder(max_waiting_per_key=1), new_id()
    three = await asyncio.gather(
        *[reencoder.reencode(image_bytes(), account=account) for _ in range(3)], return_exceptions=True
    )
    assert [type(result) for result in three] == [ReencodedImage, ReencodedImage, Busy]
    assert (await reencoder.reencode(image_bytes(), account=account)).extension == "png"
    reencoder.close()


async def test_one_accounts_images_do_not_block_anothers(monkeypatch: pytest.MonkeyPatch) -> None:
    """R30: twelve uploads that take for ever, and then somebody else's."""
    blocked, greedy = threading.Event(), new_id()

    def slow(content: bytes) -> ReencodedImage:
        if content == b"slow":
            blocked.wait()
        return ReencodedImage(content, "png")

    monkeypatch.setattr(encoder, "_reencode", slow)
    reencoder = ImageReencoder()
    twelve = [asyncio.create_task(reencoder.reencode(b"slow", account=greedy)) for _ in range(12)]
    assert (await reencoder.reencode(b"quick", account=new_id())).content == b"quick"
    blocked.set()
    results = await asyncio.gather(*twelve, return_exceptions=True)
    assert {type(result) for result in results} == {ReencodedImage, Busy}
    reencoder.close()


def tiled(size: tuple[int, int], mode: str = "RGB") -> Image.Image:
    """Small as a PNG, and large once its pixels are mixed."""
    tile = Image.frombytes(mode, (16, 16), Random(1).randbytes(256 * len(mode)))
    canvas = Image.new(mode, size)
    for left in range(0, size[0], 16):
        canvas.paste(tile, (left, 0))
    row = canvas.crop((0, 0, size[0], 16))
    for top in range(16, size[1], 16):
        canvas.paste(row, (0, top))
    return canvas


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("kind", "options"), [("PNG", {}), ("WEBP", {"lossless": True, "method": 0}), ("JPEG", {"quality": 5}), ("GIF", {})]
)
def test_a_small_file_does_not_grow_beyond_the_limits(kind: str, options: dict[str, Any]) -> None:
    """R31"""
    content = encoded(tiled((2400, 1600)), kind, **options)
    made = reencode(content).content
    assert len(made) <= image_codec.STORED_BYTES
    assert max(opened(made).size) <= image_codec.STORED_SIDE
    width, height = opened(made).size
    assert width / height == pytest.approx(1.5, abs=0.01)


def test_a_small_animation_does_not_grow_beyond_the_limits() -> None:
    """R31: a WebP of 26 KB grew to 15 MB."""
    out, frame = io.BytesIO(), tiled((640, 640))
    frames = [frame.rotate(90 * turn) for turn in (1, 2, 3, 0)] * 3
    frame.save(out, "WEBP", save_all=True, append_images=frames, lossless=True, method=0, quality=0)
    assert len(out.getvalue()) < 150_000
    made = opened(reencode(out.getvalue()).content)
    assert made.n_frames == 13
    assert made.n_frames * made.width * made.height <= image_codec.STORED_PIXELS
    assert made.fp.seek(0, io.SEEK_END) <= image_codec.STORED_BYTES


def test_refuses_images_that_stay_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    content = encoded(tiled((300, 300)), "PNG")
    monkeypatch.setattr(image_codec, "STORED_BYTES", len(content))
    monkeypatch.setattr(image_codec, "_encode", lambda *_: bytes(len(content) + 1))
    with pytest.raises(BadImage, match="fewer pixels"):
        reencode(content)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16"])
def test_reducing_in_bands_shows_no_seams(mode: str) -> None:
    """It is reduced in bands, whose seams must not show."""
    grey = Image.linear_gradient("L").resize((100, 5000))
    image = grey.convert("I").point(lambda value: value * 256).convert("I;16") if mode == "I;16" else grey.convert(mode)
    made = opened(reencode(encoded(image, "PNG")).content)
    assert made.size == (41, 2048)
    seen = made.convert("I").point(lambda value: value / 256).convert("L") if mode == "I;16" else made.convert("L")
    expected = list(grey.resize((1, 20), Image.Resampling.BOX).tobytes())
    assert list(seen.resize((1, 20), Image.Resampling.BOX).tobytes()) == pytest.approx(expected, abs=3)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_applies_the_orientation_of_large_images(kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    assert opened(reencode(image_bytes(kind, (3000, 1500), exif=exif)).content).size == (1024, 2048)


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
def test_frames_are_counted_before_any_is_decoded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = animation(kind, image_codec.MAX_FRAMES + 1)
    monkeypatch.setattr(image_codec, "_frames", lambda *_: pytest.fail("it was decoded"))
    with pytest.raises(BadImage, match="frames"):
        reencode(content)


async def test_reports_a_bad_image_with_other_problems(env: Env) -> None:
    answer = await env.send_form("POST", "", [("destination_url", "nonsense"), ("slug", "a/b")], file=b"nonsense")
    assert faults(answer).keys() == {"destination_url", "slug", "og_image_file"}
    assert await env.uploaded_images() == {}


async def test_ignores_the_file_name_of_the_upload(env: Env) -> None:
    fields = [("destination_url", env.site.url())]
    answer = await env.send_form("POST", "", fields, file=image_bytes("GIF"), name="../../etc/x.svg")
    assert answer.json()["data"]["og_image"].endswith(".gif")


async def test_accepts_a_form_without_a_file(env: Env) -> None:
    answer = await env.send_form("POST", "", [("destination_url", env.site.url())], file=b"", name="")
    link = answer.json()["data"]
    assert link["og_image"] == env.site.url("/card.png")
    again = await env.send_form("PATCH", f"/{link['id']}", [("title", "T")], file=b"", name="")
    assert again.json()["data"] == link | {"title": "T"}


async def test_refuses_text_in_place_of_a_file(env: Env) -> None:
    fields = [("destination_url", env.site.url()), ("og_image_file", "text")]
    message = "This must be a file: send it as a multipart/form-data part with a filename."
    assert faults(await env.post(dict(fields))) == {"og_image_file": [message]}
    assert faults(await env.send_form("POST", "", fields)) == {"og_image_file": [message]}


async def test_a_failed_write_leaves_no_file(env: Env) -> None:
    await env.make(env.bob, slug="taken")
    fields = [("destination_url", env.site.url()), ("slug", "taken")]
    assert faults(await env.send_form("POST", "", fields, file=image_bytes())).keys() == {"slug"}
    assert await env.uploaded_images() == {}


async def test_answers_503_when_the_disk_is_not_writable(env: Env) -> None:
    if not isinstance(env.deps.image_store, ImageFiles):
        pytest.skip("images are rows")
    env.deps.image_store.directory.write_text("a file where the directory should be")
    answer = await env.send_form("POST", "", [("destination_url", env.site.url())], file=image_bytes())
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "http_error")
    assert (await env.browse()).json()["meta"]["total"] == 0


async def test_a_change_replaces_the_image_and_its_file(env: Env) -> None:
    link = await upload(env, image_bytes())
    answer = await env.send_form("PATCH", f"/{link['id']}", [], file=image_bytes("WEBP"))
    changed = answer.json()["data"]["og_image"]
    assert [f"{BASE_URL}/media/{name}" for name in await env.uploaded_images()] == [changed]
    assert changed.endswith(".webp")
    assert (await env.client.get(link["og_image"])).status_code == 404


@pytest.mark.parametrize("value", [None, "https://example.com/a.png"])
async def test_a_change_to_another_image_removes_the_file(env: Env, value: str | None) -> None:
    link = await upload(env, image_bytes())
    assert (await env.changed(link, og_image=value))["og_image"] == value
    assert await env.uploaded_images() == {}


async def test_keeps_the_image_when_its_url_is_sent_back(env: Env) -> None:
    link = await upload(env, image_bytes())
    assert await env.changed(link, og_image=link["og_image"]) == link
    assert (await env.client.get(link["og_image"])).status_code == 200


async def test_logs_a_file_that_cannot_be_deleted(env: Env) -> None:
    if not isinstance(env.deps.image_store, ImageFiles):
        pytest.skip("images are rows")
    for leave in (env.delete, lambda link: env.patch(link, {"og_image": None})):
        link = await upload(env, image_bytes())
        file = env.deps.image_store.directory / link["og_image"].rpartition("/")[2]
        file.unlink()
        file.mkdir()  # nobody can unlink a directory
        with capture_logs() as logged:
            assert (await leave(link)).status_code in {200, 204}
        assert [(entry["event"], entry["name"]) for entry in logged] == [("image file not deleted", file.name)]


async def test_accepts_the_url_of_a_hosted_image(env: Env) -> None:
    url = (await upload(env, image_bytes()))["og_image"]
    assert (await env.make(og_image=url))["og_image"] == url


@pytest.mark.parametrize("name", ["a b.png", "a\\b.png", "a" * 32 + ".png?x= y"])
async def test_refuses_urls_that_only_begin_like_a_hosted_image(env: Env, name: str) -> None:
    assert faults(await env.post({"og_image": f"{BASE_URL}/media/{name}"})).keys() == {"og_image"}


async def test_deleting_a_link_removes_its_image(env: Env) -> None:
    await env.delete(await upload(env, image_bytes()))
    assert await env.uploaded_images() == {}


@pytest.mark.parametrize(
    "name", ["", "x.png", "..%2fblocklist", "%2e%2e/blocklist", "a" * 32 + ".svg", "a" * 32 + ".png", ".."]
)
async def test_serves_no_other_files(env: Env, name: str) -> None:
    answer = await env.client.get(f"/media/{name}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
