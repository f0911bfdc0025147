"""Protected links: a form, a redirect after the right password, and a cookie for one link and one password."""

import asyncio
from urllib.parse import quote_plus
from uuid import UUID

import pytest
from wire import HOST, LINK, Previews, Routes, Wire

from waypost.redirect import DISABLED, NEVER, ChangeFeed, Route, RouteOptions, new_route, password_pages
from waypost.redirect.password_pages import LIFETIME, Cookies
from waypost.redirect.routing.compiled import compile_routing

OWN, RULE, FALLBACK = (f"https://example.com/{name}" for name in ("own", "rule", "later"))
PASSWORD = "open sesame 🔑"
RULES = [{"name": "R", "conditions": [{"type": "query", "name": "a", "values": ["1"]}], "destination_url": RULE}]
PIXELS = [(UUID(int=7), "facebook", "123")]


def protected(expires_at: float = NEVER, *, starts_at: float = 0.0, version: int = 3) -> Route:
    options = RouteOptions(compile_routing(RULES, []), starts_at, FALLBACK.encode(), version)
    return new_route(HOST, OWN, UUID(LINK.decode()), expires_at, PIXELS, options)


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


def post(path: str, password: str | None = PASSWORD, *, body: str | None = None, headers: str = "") -> bytes:
    """`headers`: further lines."""
    body = f"password={quote_plus(password or '')}" if body is None else body
    head = f"POST /{path} HTTP/1.1\r\nHost: {HOST.decode()}\r\nContent-Length: {len(body)}\r\n{headers}"
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
        assert attributes == [f"Max-Age={LIFETIME}", "Path=/closed", "HttpOnly", "SameSite=Lax"]
        assert b'"to":"%s"' % OWN.encode() in await wire.say(get("closed", f"other=1, {cookie}; last=2"))
        assert b'"to":"%s"' % RULE.encode() in await wire.say(get("closed?a=1", cookie))
    assert [visit.target for visit in visits()] == [b"default", b"default", b"R"] * 2
    assert all(b"password" not in visit.query for visit in visits())


async def test_rules_apply_to_the_sent_form(fast: Wire) -> None:
    assert f"\r\nlocation: {RULE}\r\n".encode() in await fast.say(post("closed?a=1"))


@pytest.mark.parametrize(
    "request_",
    [
        post("closed", "\U0010ffff" * 128),
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
    [made] = ours.new(name, 3, 1_000.9, path=b"/a", header=b"", is_https=True)
    value, secure = made.partition(b";")[0], made.endswith(b"; Secure")
    assert secure
    assert ours.is_valid(value, name, 3, 1_000 + LIFETIME - 1)
    assert not ours.is_valid(value, name, 3, 1_000 + LIFETIME)
    assert not ours.is_valid(value, name, 4, 1_001)
    assert not ours.is_valid(value.replace(name, b"1" * 32), b"1" * 32, 3, 1_001)
    assert Cookies([b"new", b"key"]).is_valid(value, name, 3, 1_001)
    assert not Cookies([b"new"]).is_valid(value, name, 3, 1_001)
    assert Cookies([]).new(name, 3, 1_000.0, path=b"/a", header=b"", is_https=True) == []


@pytest.mark.parametrize(
    "headers",
    [
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
        "Sec-Fetch-Site: none\r\n",
        f"Sec-Fetch-Site: cross-site\r\nOrigin: http://{HOST.decode()}\r\n",
        "Origin: https://evil.example\r\n",
        "Origin: null\r\n",
        f"Origin: http://{HOST.decode()}.evil.example\r\n",
        f"Origin: http://{HOST.decode()}:8080\r\n",
        "Origin: http://[\r\n",
    ],
)
async def test_a_form_of_another_site_is_refused_and_sets_no_cookie(
    headers: str, fast: Wire, plain: Wire, visits
) -> None:
    for wire in (fast, plain):
        answer = await wire.say(post("closed", headers=headers))
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert password_pages.OTHER_SITE.encode() in answer
        assert b"set-cookie" not in answer
        assert OWN.encode() not in answer
    assert visits() == []


@pytest.mark.parametrize("headers", ["Sec-Fetch-Site: same-origin\r\nOrigin: null\r\n", "Origin: http://{}\r\n", ""])
async def test_the_own_form_is_accepted_with_and_without_headers_about_its_site(
    headers: str, fast: Wire, visits
) -> None:
    referrer = f"Referer: http://{HOST.decode()}/closed\r\n"
    answer = await fast.say(post("closed", headers=headers.format(HOST.decode()) + referrer))
    assert answer.startswith(b"HTTP/1.1 303 ")
    assert [visit.referrer for visit in visits()] == [b""], "the form is not where the visitor comes from"


@pytest.mark.parametrize(
    ("path", "bound"),
    [
        (b"/sale", True),
        (b"/docs/a%20b,c%3b%e2%82%ac/", True),
        (b"/" + b"a" * 1_023, True),
        (b"/a;b", False),
        (b"/a\xe2\x82\xac", False),
        (b"/" + b"a" * 1_024, False),
        (b"", False),
    ],
)
def test_a_cookie_is_bound_to_the_path_of_its_link_where_browsers_keep_that(path: bytes, bound: bool) -> None:
    [made] = Cookies([b"key"]).new(LINK, 3, 1_000, path=path, header=b"", is_https=True)
    assert (b"; Path=%b; " % (path if bound else b"/")) in made
    assert Cookies([b"key"]).is_valid(made.partition(b";")[0], LINK, 3, 1_001)


def test_a_browser_keeps_eight_cookies_that_no_path_binds() -> None:
    ours, jar, made = Cookies([b"key"]), {}, [b"%032x" % number for number in range(20)]
    for now, link in enumerate([*made, made[13]]):
        header = b"; ".join(b"%b=%b" % cookie for cookie in jar.items())
        for cookie in ours.new(link, 3, now, path=b"/a;b", header=header + b"; waypost_shared_1=x", is_https=False):
            name, _, value = cookie.partition(b";")[0].partition(b"=")
            jar[name] = value
            if b"Max-Age=0;" in cookie:
                del jar[name]
        assert len(jar) == min(now + 1, 8)
    header = b"; ".join(b"%b=%b" % cookie for cookie in jar.items())
    assert [link for link in made if ours.is_valid(header, link, 3, 20)] == made[12:], "the latest eight"


def test_only_a_few_cookies_of_a_link_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    signed: list[bytes] = []
    monkeypatch.setattr(password_pages, "_signature", lambda *_: signed.append(b"") or b"x" * 64)
    forged = b"; ".join([b"waypost_%b=1999.%064x" % (LINK, number) for number in range(500)])
    assert not Cookies([b"key"]).is_valid(forged, LINK, 3, 1_000)
    assert not Cookies([b"key"]).is_valid(forged.replace(LINK, b"1" * 32), LINK, 3, 1_000)
    assert 0 < len(signed) < 10


@pytest.mark.parametrize(
    ("changed", "answer"),
    [
        (protected(DISABLED), b"HTTP/1.1 404 "),
        (protected(1.0), b"HTTP/1.1 302 "),
        (new_route(HOST, RULE, UUID(int=7)), b"HTTP/1.1 404 "),
        (new_route(HOST, RULE, UUID(LINK.decode())), b"HTTP/1.1 303 "),
        (None, b"HTTP/1.1 404 "),
    ],
)
async def test_a_link_that_changes_while_the_form_is_sent(
    changed: Route | None, answer: bytes, fast: Wire, source: Routes, feed: ChangeFeed, visits
) -> None:
    await fast.say(get("closed"))
    head, _, body = post("closed").partition(b"\r\n\r\n")
    reader, writer = await asyncio.open_connection("127.0.0.1", fast.port)
    writer.write(head + b"\r\n\r\n" + body[:3])
    await fast.say(get("closed"))  # the form has begun
    source.routes[b"closed"] = changed
    feed.publish(["closed"])
    writer.write(body[3:])
    said = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    assert said.startswith(answer)
    assert OWN.encode() not in said
    assert len(visits()) == (answer == b"HTTP/1.1 303 ")


async def test_head_and_prefetches_get_the_form(fast: Wire, visits) -> None:
    head = await fast.say(get("closed", method="HEAD"), bodies=False)
    assert head.startswith(b"HTTP/1.1 200 ")
    assert OWN.encode() not in head
    prefetch = get("closed").replace(b"\r\n\r\n", b"\r\nSec-Purpose: prefetch;prerender\r\n\r\n")
    answer = await fast.say(prefetch)
    assert b'<form method="post">' in answer
    for header in (b"cache-control: private, no-store", b"referrer-policy: same-origin", b"frame-ancestors 'none'"):
        assert header in answer, "neither kept by a proxy, nor sent on, nor framed"
    assert visits() == []


async def test_forms_elsewhere_are_refused(fast: Wire) -> None:
    for path in ("open", "nothing"):
        assert (await fast.say(post(path))).startswith(b"HTTP/1.1 405 ")


async def test_a_form_of_a_link_that_is_over_gets_what_a_visit_gets(fast: Wire, visits) -> None:
    early, off = await fast.say(post("early")), await fast.say(post("off"))
    assert early.startswith(b"HTTP/1.1 302 ")
    assert f"\r\nlocation: {FALLBACK}\r\n".encode() in early
    assert off.startswith(b"HTTP/1.1 404 ")
    assert b"Link not found" in off
    assert visits() == []


async def test_a_link_that_has_not_started_asks_for_nothing(fast: Wire) -> None:
    assert f"\r\nlocation: {FALLBACK}\r\n".encode() in await fast.say(get("early"))


def _cookie(answer: bytes) -> str:
    return answer.partition(b"\r\nset-cookie: ")[2].partition(b"\r\n")[0].decode()
