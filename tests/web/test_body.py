"""Whatever a body holds: fields, a 422 or a 413. Never a 500."""

import contextlib
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from waypost.kit.errors import Invalid, TooLarge
from waypost.kit.fields import Upload
from waypost.web import read_fields
from waypost.web.body import MAX_JSON, MAX_MULTIPART

JSON = "application/json"
FORM = "multipart/form-data; boundary=xyz"


async def read(
    body: bytes, content_type: str | None = JSON, *, step: int = 65_536, announce: bool = True, encoding: str = ""
) -> Any:
    headers = [(b"content-length", str(len(body)).encode())] if announce else []
    headers += [(b"content-encoding", encoding.encode())] if encoding else []
    if content_type is not None:
        headers.append((b"content-type", content_type.encode()))
    chunks = [body[start : start + step] for start in range(0, len(body), step)]
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Any:
        return messages.pop(0)

    return await read_fields(Request({"type": "http", "method": "POST", "headers": headers}, receive))


def part(name: str, value: str | bytes, *more: str) -> bytes:
    value = value.encode() if isinstance(value, str) else value
    head = "\r\n".join([f'Content-Disposition: form-data; name="{name}"', *more])
    return f"--xyz\r\n{head}\r\n\r\n".encode() + value + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--xyz--\r\n"


async def refused(body: bytes, content_type: str | None = JSON) -> str:
    with pytest.raises(Invalid) as caught:
        await read(body, content_type)
    assert set(caught.value.errors) == {"body"}
    return caught.value.errors["body"][0]


async def test_reads_json_and_multipart_bodies() -> None:
    assert await read(b'{"title": "\xc3\xa9", "tags": [1, null]}') == {"title": "é", "tags": [1, None]}
    assert await read(form(part("title", "é")), FORM) == {"title": "é"}


@pytest.mark.parametrize(
    "content_type", [None, "application/json; charset=utf-8", "APPLICATION/JSON", "a/problem+json"]
)
async def test_accepts_json_media_types(content_type: str | None) -> None:
    assert await read(b"{}", content_type) == {}


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/mixed"])
async def test_refuses_other_media_types_with_a_hint(content_type: str) -> None:
    assert "application/json" in await refused(b"{}", content_type)


@pytest.mark.parametrize("content_type", [JSON, FORM])
@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, GZIP"])
async def test_refuses_a_compressed_body_unread(content_type: str, encoding: str) -> None:
    with pytest.raises(Invalid) as caught:
        await read(gzip.compress(b"{}"), content_type, encoding=encoding)
    assert caught.value.errors == {"body": ["Send the body uncompressed, without Content-Encoding."]}


async def test_accepts_the_identity_encoding() -> None:
    assert await read(b"{}", encoding="Identity") == {}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b"nul",
        b"[]",
        b'"x"',
        b"1",
        b"null",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 5_000 + b"}",
        b'{"a": 1, "a": 1}',
        b'{"x": {"a": 1, "a": 2}}',
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b"\xff",
        b'{"a": "\xff"}',
        b'\xef\xbb\xbf{"a": 1}',
        '{"a": 1}'.encode("utf-16"),
        b'{"a": "\n"}',
        b"{'a': 1}",
        b'{"a": 1,}',
        b'{"a": 1} x',
    ],
    ids=lambda body: repr(body[:20]),
)
async def test_refuses_what_is_not_a_json_object(body: bytes) -> None:
    assert await refused(body)


@given(st.binary(max_size=60))
async def test_never_fails_on_arbitrary_bytes(body: bytes) -> None:
    for content_type, given_body in ((JSON, body), (FORM, b"--xyz\r\n" + body + b"\r\n--xyz--\r\n"), (FORM, body)):
        with contextlib.suppress(Invalid):
            assert isinstance(await read(given_body, content_type), dict)


async def test_reads_nested_names_as_php_does() -> None:
    body = form(
        part("tags[]", "a"),
        part("tags[0]", "b"),
        part("utm_params[utm_source]", "x"),
        part("utm_params[utm_medium]", ""),
        part("pixel_ids", ""),
        part("title", "first"),
        part("title", "last"),
        part("deep[a][b]", "c"),
    )
    assert await read(body, FORM) == {
        "tags": ["a", "b"],
        "utm_params": {"utm_source": "x", "utm_medium": None},
        "pixel_ids": None,
        "title": "last",
        "deep[a][b]": "c",
    }


async def test_drops_empty_list_elements() -> None:
    body = form(part("tags[]", ""), part("pixel_ids[]", "a"), part("pixel_ids[]", ""), part("pixel_ids[2]", "b"))
    assert await read(body, FORM) == {"tags": [], "pixel_ids": ["a", "b"]}


async def test_ignores_preamble_and_epilogue() -> None:
    body = b"preamble\r\n" + part("a", "x").replace(b"--xyz", b"--xyz \t") + form(part("b", "\r\n\r\n-- xyz"))
    assert await read(body + b"epilogue\r\n--xyz\r\n", FORM) == {"a": "x", "b": "\r\n\r\n-- xyz"}


async def test_accepts_the_maximum_number_of_parts() -> None:
    assert await read(form(*[part("tags[]", "x")] * 300), FORM) == {"tags": ["x"] * 300}


async def test_reads_a_file_as_an_upload() -> None:
    body = form(
        part(
            "og_image_file",
            b"\x89PNG\r\n--xy\xff",
            "Content-Type: image/png",
        ).replace(b'"og_image_file"', b'"og_image_file"; filename="a b.png"')
    )
    assert await read(body, FORM) == {"og_image_file": Upload("a b.png", "image/png", b"\x89PNG\r\n--xy\xff")}


async def test_an_empty_file_input_is_null() -> None:
    body = form(part("og_image_file", b"").replace(b'"og_image_file"', b'"og_image_file"; filename=""'))
    assert await read(body, FORM) == {"og_image_file": None}


async def test_chunk_sizes_do_not_matter() -> None:
    body = form(part("title", "x" * 50), part("tags[]", "y"))
    assert all([await read(body, FORM, step=step) == await read(body, FORM) for step in (1, 2, 3, 7, 50)])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--xyz",
        b"--xyz\r\n",
        b"nothing",
        part("title", "x"),
        form(part("title", b"\xff")),
        form(b"--xyz\r\n\r\nx\r\n"),
        form(b"--xyz\r\nContent-Disposition: form-data\r\n\r\nx\r\n"),
        form(b'--xyz\r\nContent-Disposition: form-data; name="\xff"\r\n\r\nx\r\n'),
        form(b"--xyz\r\nContent Disposition: x\r\n\r\nx\r\n"),
        form(b"--xyz\r\nContent-Disposition\r\n\r\nx\r\n"),
        form(part("title", "x\r\n--xyzw")),
        form(*[part("tags[]", "x")] * 301),
        form(part("a", "x", "X: " + "x" * 1_000)),
        form(part("a" + ";" * 20, "x")),
    ],
    ids=lambda body: repr(body[:30]),
)
async def test_refuses_malformed_multipart(body: bytes) -> None:
    assert await refused(body, FORM)


@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary=" + "x" * 500])
async def test_refuses_an_unusable_boundary(content_type: str) -> None:
    assert await refused(form(part("a", "b")), content_type)


@pytest.mark.parametrize("announce", [True, False])
@pytest.mark.parametrize(("content_type", "limit"), [(JSON, MAX_JSON), (FORM, MAX_MULTIPART)])
async def test_refuses_a_body_over_the_limit(content_type: str, limit: int, announce: bool) -> None:
    with pytest.raises(TooLarge, match=f"{limit:,} bytes"):
        await read(b" " * (limit + 1), content_type, announce=announce)


async def test_stops_reading_at_the_limit() -> None:
    read_chunks = 0

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 65_536

    chunks = endless()

    async def receive() -> Any:
        nonlocal read_chunks
        read_chunks += 1
        return {"type": "http.request", "body": await anext(chunks), "more_body": True}

    with pytest.raises(TooLarge):
        await read_fields(Request({"type": "http", "method": "POST", "headers": []}, receive))
    assert read_chunks <= MAX_JSON // 65_536 + 1


async def test_accepts_a_body_at_the_limit() -> None:
    text = "x" * (MAX_JSON - len('{"a": ""}'))
    assert await read(json.dumps({"a": text}).encode(), announce=False) == {"a": text}
