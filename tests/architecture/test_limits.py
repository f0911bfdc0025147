"""The table of limits: what is as long as may be is taken, one more is refused, on create and on change alike."""

import io
from typing import Any

import httpx
import pytest
import pytest_asyncio
from architecture.facts import (
    DEFAULT_PER_PAGE,
    ENDPOINTS,
    IMAGE_BYTES,
    IMAGE_FORMATS,
    LINK_LIMITS,
    MAX_PER_PAGE,
    PIXEL_LIMITS,
    REQUESTS_PER_MINUTE,
    SCOPES,
    SLUG_CHARACTERS,
    WEBHOOK_URL,
    Endpoint,
)
from architecture.running import PIXEL, RECEIVER, RunningApp
from PIL import Image

ME = ENDPOINTS["account_get"]
BROWSE, CREATE, FIND, CHANGE = (ENDPOINTS[f"links_{verb}"] for verb in ("list", "create", "get", "update"))
MAKE_PIXEL, CHANGE_PIXEL = ENDPOINTS["pixels_create"], ENDPOINTS["pixels_update"]
ASCII = tuple(map(chr, range(128)))
BEYOND = ("é", "ß", "Ω", "\N{FULLWIDTH DIGIT ONE}", "\N{ARABIC-INDIC DIGIT THREE}", "😀", "")


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def running(shared_app: RunningApp) -> RunningApp:
    return shared_app


@pytest_asyncio.fixture(loop_scope="module")
async def key(running: RunningApp) -> str:
    return await running.key(await running.account(), SCOPES)


def fields(running: RunningApp, name: str, length: int, letter: str) -> dict[str, Any]:
    """A body whose field of that name has that many characters."""
    outer, _, inner = name.partition(".")
    base = {"destination_url": running.website.url}
    if outer == "destination_url":
        return {outer: f"{running.website.url}/".ljust(length, "a")}
    if outer == "og_image":
        return base | {outer: "https://example.com/".ljust(length, "a")}
    text = letter * length
    return base | {outer: [text] if inner == "0" else {inner: text} if inner else text}


def stored(link: dict[str, Any], name: str) -> Any:
    outer, _, inner = name.partition(".")
    return link[outer][int(inner) if inner == "0" else inner] if inner else link[outer]


async def test_me_reports_the_rate_limit(running: RunningApp, key: str) -> None:
    answer = await running.ask(key, ME)
    assert answer.json()["data"]["limits"] == {"requests_per_minute": REQUESTS_PER_MINUTE}


@pytest.mark.parametrize(("name", "limit"), LINK_LIMITS.items())
@pytest.mark.parametrize("endpoint", [CREATE, CHANGE], ids=["create", "change"])
async def test_the_length_of(running: RunningApp, key: str, endpoint: Endpoint, name: str, limit: int) -> None:
    link = await running.link(key) if endpoint is CHANGE else {"id": ""}
    letter = "a" if endpoint is CREATE else "b"  # a slug is taken once
    refused = await running.ask(key, endpoint, link["id"], json=fields(running, name, limit + 1, letter))
    assert refused.status_code == 422, refused.text
    assert list(refused.json()["error"]["errors"]) == [name]
    taken = await running.ask(key, endpoint, link["id"], json=fields(running, name, limit, letter))
    assert taken.status_code == endpoint.success, taken.text
    assert len(stored(taken.json()["data"], name)) == limit


@pytest.mark.parametrize("name", ["title", "og_title", "og_description"])
async def test_characters_are_counted_not_bytes(running: RunningApp, key: str, name: str) -> None:
    text = "😀" * LINK_LIMITS[name]
    assert (await running.link(key, **{name: text}))[name] == text


async def test_the_characters_of_a_slug(running: RunningApp) -> None:
    account = await running.account()
    refused = set()
    for number, character in enumerate([*ASCII, *BEYOND]):
        if number % REQUESTS_PER_MINUTE == 0:
            key = await running.key(account, SCOPES)
        answer = await running.ask(key, CREATE, json={"slug": character})  # without a destination nothing is made
        if "slug" in answer.json()["error"]["errors"]:
            refused.add(character)
    assert set(ASCII) - refused == SLUG_CHARACTERS
    assert set(BEYOND) <= refused


def picture(kind: str, size: int | None = None) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(out, kind)
    return out.getvalue() if size is None else out.getvalue().ljust(size, b"\0")


async def upload(running: RunningApp, key: str, content: bytes) -> httpx.Response:
    form = {"destination_url": running.website.url}
    return await running.ask(key, CREATE, data=form, files={"og_image_file": ("picture", content)})


@pytest.mark.parametrize("kind", IMAGE_FORMATS)
async def test_images_may_be(running: RunningApp, key: str, kind: str) -> None:
    assert (await upload(running, key, picture(kind))).status_code == 201


@pytest.mark.parametrize("content", [picture("BMP"), picture("TIFF"), b"<svg xmlns='http://www.w3.org/2000/svg'/>"])
async def test_images_may_not_be(running: RunningApp, key: str, content: bytes) -> None:
    answer = await upload(running, key, content)
    assert (answer.status_code, list(answer.json()["error"]["errors"])) == (422, ["og_image_file"])


async def test_the_size_of_an_image(running: RunningApp, key: str) -> None:
    assert (await upload(running, key, picture("PNG", IMAGE_BYTES))).status_code == 201
    answer = await upload(running, key, picture("PNG", IMAGE_BYTES + 1))
    assert (answer.status_code, list(answer.json()["error"]["errors"])) == (422, ["og_image_file"])


@pytest.mark.parametrize(("name", "limit"), PIXEL_LIMITS.items())
async def test_the_length_of_a_pixel_s(running: RunningApp, key: str, name: str, limit: int) -> None:
    pixel = await running.pixel(key)
    for endpoint, rest in ((MAKE_PIXEL, PIXEL), (CHANGE_PIXEL, {})):
        refused = await running.ask(key, endpoint, pixel["id"], json=rest | {name: "a" * (limit + 1)})
        assert (refused.status_code, list(refused.json()["error"]["errors"])) == (422, [name])
        taken = await running.ask(key, endpoint, pixel["id"], json=rest | {name: "a" * limit})
        assert taken.status_code == endpoint.success, taken.text


async def test_the_length_of_a_webhook_s_url(running: RunningApp, key: str) -> None:
    subscribe = ENDPOINTS["webhooks_create"]
    for length, status in ((WEBHOOK_URL, 201), (WEBHOOK_URL + 1, 422)):
        sent = {"url": f"{RECEIVER}/".ljust(length, "a"), "event_types": ["link.created"]}
        assert (await running.ask(key, subscribe, json=sent)).status_code == status


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("", DEFAULT_PER_PAGE),
        ("?per_page=1", 1),
        (f"?per_page={MAX_PER_PAGE}", MAX_PER_PAGE),
        (f"?per_page={MAX_PER_PAGE + 1}", MAX_PER_PAGE),
        ("?per_page=99999999999999999999", MAX_PER_PAGE),
    ],
)
async def test_the_length_of_a_page(running: RunningApp, key: str, asked: str, given: int) -> None:
    answer = await running.ask(key, BROWSE._replace(path=BROWSE.path + asked))
    assert answer.json()["meta"]["per_page"] == given


async def test_the_rate_is_each_key_s_own(running: RunningApp, key: str) -> None:
    answers = [await running.ask(key, ME) for _ in range(REQUESTS_PER_MINUTE + 1)]
    assert [answer.status_code for answer in answers] == [200] * REQUESTS_PER_MINUTE + [429]
    left = [int(answer.headers["X-RateLimit-Remaining"]) for answer in answers]
    assert left == [*reversed(range(REQUESTS_PER_MINUTE)), 0]
    assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {str(REQUESTS_PER_MINUTE)}
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60
    [account] = {(await running.ask(await running.key(await running.account(), ()), ME)).status_code}
    assert account == 200
