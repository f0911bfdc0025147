"""R30: what cheap checks refuse costs neither a visit to the destination nor the decoding of an image."""

import pytest
from resources.links.env import Env, faults
from resources.links.test_images import image_bytes

from waypost.resources.links import rules
from waypost.resources.links.images import encoder, media
from waypost.resources.links.images.media import ReencodedImage

REFUSED: list[tuple[str, str]] = [
    ("slug", "a/b"),
    ("slug", "taken"),
    ("title", "x" * 256),
    ("hostname", "links.example.com"),
    ("og_image", "/relative.png"),
    ("expires_at", "2029-12-31T00:00:00Z"),
    ("pixel_ids[]", "0190b5a3-9f3b-7000-8000-000000000000"),
    ("utm_params[utm_colour]", "red"),
]


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Images that were decoded."""
    noted: list[bytes] = []
    reencode = encoder._reencode

    def note(content: bytes) -> ReencodedImage:
        noted.append(content)
        return reencode(content)

    monkeypatch.setattr(encoder, "_reencode", note)
    return noted


async def test_cheap_checks_run_before_expensive_ones(env: Env, decoded: list[bytes]) -> None:
    await env.make(env.bob, slug="taken")
    link = await env.make()
    env.site.seen.clear()
    for method, path in (("POST", ""), ("PATCH", f"/{link['id']}")):
        for field in REFUSED:
            fields = [("destination_url", env.site.url()), field]
            answer = await env.send_form(method, path, fields, file=image_bytes())
            assert "destination_url" not in faults(answer), field
    assert (env.site.seen, decoded) == ([], [])
    answer = await env.send_form("POST", "", [("destination_url", env.site.url())], file=image_bytes())
    assert answer.status_code == 201
    assert (len(env.site.seen), len(decoded)) == (1, 1)


async def test_reports_a_refused_destination_with_other_problems(env: Env) -> None:
    for url in ("http://10.0.0.1/", "http://[::1]/", "ftp://example.com/", "http://", "nonsense"):
        assert faults(await env.post({"destination_url": url, "slug": "a/b"})).keys() == {"destination_url", "slug"}


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"GIF" + bytes(media.MAX_BYTES), media.TOO_LARGE), (b"<svg/>", media.NOT_AN_IMAGE)],
    ids=["too large", "no image"],
)
async def test_an_unacceptable_file_causes_no_request(env: Env, content: bytes, message: str) -> None:
    answer = await env.send_form("POST", "", [("destination_url", env.site.url()), ("slug", "a/b")], file=content)
    assert faults(answer) == {"slug": [rules.find_slug_problem("a/b", ())], "og_image_file": [message]}
    assert env.site.seen == []
