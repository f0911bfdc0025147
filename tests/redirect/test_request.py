"""Which heads are ordinary, and what is kept of them. `test_protocol` compares the answers to others with uvicorn's."""

import pytest

from waypost.redirect.request import RequestReader

HOST = b"Host: go.test"


def head(*headers: bytes, request: bytes = b"GET /hello?a=1 HTTP/1.1") -> bytes:
    return b"\r\n".join([request, *headers, b"", b""])


def new_reader() -> RequestReader:
    return RequestReader(lambda: None)


def headers_of(reader: RequestReader) -> tuple[bytes, ...]:
    names = "host", "forwarded_for", "forwarded", "user_agent", "referrer", "language", "purpose", "privacy"
    return tuple(getattr(reader, name) for name in names)


def test_reads_all_headers_of_a_visit() -> None:
    reader = new_reader()
    names = b"X-Forwarded-For", b"Forwarded", b"User-Agent", b"Referer", b"Accept-Language", b"Sec-Purpose"
    sent = [b"%b: %d" % (name, number) for number, name in enumerate(names, 1)]
    assert reader.read(head(HOST, *sent, b"Accept: */*", b"DNT: 1", b"Connection: Keep-Alive"))
    assert headers_of(reader) == (b"go.test", b"1", b"2", b"3", b"4", b"5", b"6", b"1")
    assert reader.url == b"/hello?a=1"
    assert reader.read(head(HOST))
    assert headers_of(reader) == (b"go.test", *[b""] * 7)


@pytest.mark.parametrize(
    "unusual",
    [
        head(HOST, b"Host: other.test"),
        head(b"Host:", HOST),
        head(HOST, b"X-Forwarded-For: 1", b"x-forwarded-for: 2"),
        head(HOST, b"DNT:", b"DNT: 1"),
        head(HOST, b"User-Agent: a\tb"),
        head(HOST, b"User-Agent: a\x01b"),
        head(HOST, b"User-Agent: a\nb"),
        head(HOST, b"Content-Length: 0"),
        head(HOST, b"content-length: 5"),
        head(HOST, b"Transfer-Encoding: chunked"),
        head(HOST, b"Expect: 100-continue"),
        head(HOST, b"Connection: upgrade", b"Upgrade: websocket"),
        head(HOST, b"Connection: close"),
        head(HOST, *[b"a:"] * 100),
        head(HOST, request=b"GET /hello HTTP/1.0"),
        head(HOST, request=b"GET /hello"),
        head(HOST, request=b"GET  /hello HTTP/1.1"),
        head(HOST) + head(HOST),
        head(HOST) + head(),
        head(HOST) + b"GET /\r\n\r\n",
        head(HOST) + b"x\r\n\r\n",
    ],
)
def test_an_unusual_head_leaves_nothing_behind(unusual: bytes) -> None:
    reader = new_reader()
    assert not reader.read(unusual)
    assert reader.read(head(HOST))
    assert headers_of(reader) == (b"go.test", *[b""] * 7)


def test_keeps_few_names_and_no_long_ones() -> None:
    reader = new_reader()
    assert reader.read(head(HOST, b"X-" + b"n" * 5_000 + b": y"))
    for number in range(3_000):
        assert reader.read(head(HOST, b"X-%d: y" % number))
    assert len(reader._kinds) <= 1_000
    assert max(map(len, reader._kinds)) < 10
    assert reader.read(head(HOST, b"user-agent: curl"))
    assert reader.user_agent == b"curl"
