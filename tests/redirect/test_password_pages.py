"""Protected links: a form, a redirect after the right password, and a cookie for one link and one password."""

from urllib.parse import quote_plus
from uuid import UUID

import pytest
from wire import HOST, LINK, Previews, Routes, Wire

from waypost.redirect import DISABLED, NEVER, Route, Routed, new_route
from waypost.redirect.password_pages import LIFETIME, Cookies
from waypost.redirect.routing.compiled import compile_routing

OWN, RULE, FALLBACK = (f"https://example.com/{name}" for name in ("own", "rule", "later"))
PASSWORD = "open sesame 🔑"
RULES = [{"name": "R", "conditions": [{"type": "query", "name": "a", "values": ["1"]}], "destination_url": RULE}]
PIXELS = [(UUID(int=7), "facebook", "123")]


def protected(expires_at: float = NEVER, *, starts_at: float = 0.0, version: int = 3) -> Route:
    routed = Routed(compile_routing(RULES, []), starts_at, FALLBACK.encode(), version)
    return new_route(HOST, OWN, UUID(LINK.decode()), expires_at, PIXELS, routed)


@pytest.fixture
def source() -> Routes:
    return Routes(
        {
            b"closed": protected(),
            b"changed": protected(version=4),
            b"early": protected(starts_at=NEVER),
            b"off": protected(DISABLED),
            b"open": new_route(HOST, OWN, UUID(LINK.decode())),
        }
    )


def get(path: str, cookie: str = "", *, method: str = "GET", agent: str = "Mozilla/5.0") -> bytes:
    head = f"{method} /{path} HTTP/1.1\r\nHost: {HOST.decode()}\r\nUser-Agent: {agent}\r\n"
    return f"{head}Cookie: {cookie}\r\n\r\n".encode()


def post(path: str, password: str | None = PASSWORD, *, body: str | None = None) -> bytes:
    body = f"password={quote_plus(password or '')}" if body is None else body
    head = f"POST /{path} HTTP/1.1\r\nHost: {HOST.decode()}\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}".encode()


async def test_asks_for_the_password(fast: Wire, plain: Wire, visits) -> None:
    for wire in (fast, fast, plain):
        for request in (get("closed"), get("closed", agent="ExampleBot/1.0")):
            answer = await wire.say(request)
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b'<form method="post">' in answer
            assert b"form-action 'self' http: https:;" in answer
            assert OWN.encode() not in answer
            assert b"set-cookie" not in answer
    assert visits() == []


async def test_the_right_password_redirects_and_is_remembered(fast: Wire, plain: Wire, visits) -> None:
    for wire in (fast, plain):
        answer = await wire.say(post("closed"))
        assert answer.startswith(b"HTTP/1.1 303 ")
        assert f"\r\nlocation: {OWN}\r\n".encode() in answer
        cookie, *attributes = _cookie(answer).split("; ")
        assert attributes == [f"Max-Age={LIFETIME}", "Path=/", "HttpOnly", "SameSite=Lax"]
        assert b'"to":"%s"' % OWN.encode() in await wire.say(get("closed", f"other=1, {cookie}; last=2"))
        assert b'"to":"%s"' % RULE.encode() in await wire.say(get("closed?a=1", cookie))
    assert [visit.target for visit in visits()] == [b"default", b"default", b"R"] * 2
    assert all(b"password" not in visit.query for visit in visits())


async def test_rules_apply_to_the_sent_form(fast: Wire) -> None:
    assert f"\r\nlocation: {RULE}\r\n".encode() in await fast.say(post("closed?a=1"))


@pytest.mark.parametrize(
    "request_",
    [
        post("closed", "open sesame"),
        post("closed", "\0"),
        post("closed", ""),
        post("closed", body="password=%ff"),
        post("closed", body="x" * 5_000),
        post("closed", body="word=" + quote_plus(PASSWORD)),
    ],
)
async def test_a_wrong_password_gets_the_form(request_: bytes, fast: Wire, visits) -> None:
    answer = await fast.say(request_)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"Wrong password. Try again." in answer
    assert b"set-cookie" not in answer
    assert visits() == []


async def test_says_why_a_password_is_not_checked(fast: Wire, previews: Previews) -> None:
    assert b"Too many attempts." in await fast.say(post("closed", "too often"))
    previews.is_gone = True
    assert b"cannot be checked right now" in await fast.say(post("closed"))


async def test_a_cookie_is_for_one_password_and_one_hour(fast: Wire) -> None:
    cookie = _cookie(await fast.say(post("closed"))).partition(";")[0]
    assert b'<form method="post">' in await fast.say(get("changed", cookie))
    ours, name = Cookies([b"key"]), LINK
    made = ours.new(name, 3, 1_000.9, is_https=True)
    assert made is not None
    value, secure = made.partition(b";")[0], made.endswith(b"; Secure")
    assert secure
    assert ours.is_valid(value, name, 3, 1_000 + LIFETIME - 1)
    assert not ours.is_valid(value, name, 3, 1_000 + LIFETIME)
    assert not ours.is_valid(value, name, 4, 1_001)
    assert not ours.is_valid(value.replace(name, b"1" * 32), b"1" * 32, 3, 1_001)
    assert Cookies([b"new", b"key"]).is_valid(value, name, 3, 1_001)
    assert not Cookies([b"new"]).is_valid(value, name, 3, 1_001)
    assert Cookies([]).new(name, 3, 1_000.0, is_https=True) is None


async def test_forms_elsewhere_are_refused(fast: Wire) -> None:
    for path in ("open", "early", "off", "nothing"):
        assert (await fast.say(post(path))).startswith(b"HTTP/1.1 405 ")


async def test_a_link_that_has_not_started_asks_for_nothing(fast: Wire) -> None:
    assert f"\r\nlocation: {FALLBACK}\r\n".encode() in await fast.say(get("early"))


def _cookie(answer: bytes) -> str:
    return answer.partition(b"\r\nset-cookie: ")[2].partition(b"\r\n")[0].decode()
