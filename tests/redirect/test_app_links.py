"""App links of custom domains: documents below /.well-known/, from memory, and what happens without them."""

import pytest
from wire import HOST, Previews, Routes, Wire

from waypost.redirect import ChangeFeed, HostTable, new_host
from waypost.redirect.route import APPLE_PATH, GOOGLE_PATH

BRAND, PLAIN = b"go.brand.test", b"plain.test"
LOST = "https://brand.test/lost"
APPLE, GOOGLE = b'{"applinks":{}}', b"[]"


@pytest.fixture
def known() -> Routes:
    return Routes({BRAND: new_host(None, LOST, has_app_links=True), PLAIN: new_host(None, LOST)})


@pytest.fixture
def hosts(known: Routes, feed: ChangeFeed) -> HostTable:
    return HostTable(known, feed, capacity=16)


@pytest.fixture
def previews() -> Previews:
    return Previews(app_links={BRAND: {APPLE_PATH: APPLE, GOOGLE_PATH: GOOGLE}})


def get(path: bytes, host: bytes = BRAND, *, method: str = "GET", more: str = "") -> bytes:
    return f"{method} /{path.decode()} HTTP/1.1\r\nHost: {host.decode()}\r\n{more}\r\n".encode()


def split(answer: bytes) -> tuple[bytes, dict[bytes, bytes], bytes]:
    """(status, headers, body)"""
    top, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = top.split(b"\r\n")
    return status.split()[1], dict(line.split(b": ", 1) for line in lines), body


async def test_serves_the_documents_as_json(fast: Wire, plain: Wire, previews: Previews, visits) -> None:
    for wire in (fast, fast, plain):
        for path, document in ((APPLE_PATH, APPLE), (GOOGLE_PATH, GOOGLE)):
            status, headers, body = split(await wire.say(get(path, more="User-Agent: ExampleBot/1.0\r\n")))
            assert (status, body) == (b"200", document)
            assert headers[b"content-type"] == b"application/json"
            assert headers[b"cache-control"] == b"public, max-age=300"
            assert headers[b"x-content-type-options"] == b"nosniff"
            assert b"location" not in headers
            head = split(await wire.say(get(path, method="HEAD"), bodies=False))
            assert (head[0], head[1] | {b"date": b""}, head[2]) == (b"200", headers | {b"date": b""}, b"")
    assert previews.app_links_asked == [BRAND] * 2, "once for each document"
    assert visits() == []


async def test_a_document_that_the_client_has_is_not_sent_again(fast: Wire) -> None:
    etag = split(await fast.say(get(APPLE_PATH)))[1][b"etag"].decode()
    for sent in (etag, f'"other", W/{etag}'):
        answer = await fast.say(get(APPLE_PATH, more=f"If-None-Match: {sent}\r\n") + get(GOOGLE_PATH), answers=2)
        status, headers, rest = split(answer)
        assert (status, headers[b"etag"]) == (b"304", etag.encode())
        assert rest.startswith(b"HTTP/1.1 200 ")
    assert split(await fast.say(get(GOOGLE_PATH, more=f"If-None-Match: {etag}\r\n")))[0] == b"200"


@pytest.mark.parametrize(
    "request_",
    [
        get(APPLE_PATH, PLAIN),
        get(APPLE_PATH, HOST),
        get(APPLE_PATH, b"evil.example"),
        get(APPLE_PATH, method="POST"),
        get(APPLE_PATH + b"/"),
        get(APPLE_PATH.upper()),
        get(b".well-known/"),
    ],
)
async def test_nothing_else_gets_a_document_or_a_redirect(request_: bytes, fast: Wire, previews: Previews) -> None:
    status, headers, body = split(await fast.say(request_))
    assert status in {b"404", b"405"}
    assert b"location" not in headers
    assert APPLE not in body
    assert previews.app_links_asked == []


async def test_a_host_with_one_document_has_no_other(fast: Wire, previews: Previews) -> None:
    previews.app_links[BRAND] = {GOOGLE_PATH: GOOGLE}
    assert split(await fast.say(get(APPLE_PATH)))[0] == b"404"
    assert split(await fast.say(get(GOOGLE_PATH)))[0] == b"200"


async def test_a_change_is_seen_by_the_next_request(
    fast: Wire, known: Routes, previews: Previews, feed: ChangeFeed
) -> None:
    assert split(await fast.say(get(GOOGLE_PATH)))[2] == GOOGLE
    previews.app_links[BRAND] = {GOOGLE_PATH: b"[{}]"}
    known.routes[BRAND] = new_host(None, LOST, has_app_links=True)
    feed.publish([BRAND.decode()])
    assert split(await fast.say(get(GOOGLE_PATH)))[2] == b"[{}]"
    known.routes[BRAND] = new_host(None, LOST)
    feed.publish([BRAND.decode()])
    assert split(await fast.say(get(GOOGLE_PATH)))[0] == b"404"


async def test_documents_in_memory_are_served_without_the_database(fast: Wire, previews: Previews) -> None:
    previews.is_gone = True
    status, headers, _ = split(await fast.say(get(APPLE_PATH)))
    assert (status, headers[b"retry-after"]) == (b"503", b"1")
    previews.is_gone = False
    await fast.say(get(APPLE_PATH))
    previews.is_gone = True
    assert split(await fast.say(get(APPLE_PATH)))[2] == APPLE
