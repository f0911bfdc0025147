"""Answers as the world sends them: the status line decides, and what is wrong after it is ignored.

`answers.jsonl` and `pages.jsonl` are rebuilt from reports of users. One character of an answer is one byte, and
`{{text*n}}` is the text n times.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import servers
from servers import OPEN, NameServer, Receiver, Script, always, page, paths, response

from waypost.accounts.oidc.provider import Provider
from waypost.accounts.oidc.tokens import Client
from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.kit.urls import canonical
from waypost.outbound import (
    DestinationChecker,
    OperatorOutbound,
    Outbound,
    OutboundResponse,
    PageMetadata,
    Poster,
    SafeBrowsing,
    Unreachable,
    UrlSafety,
)
from waypost.outbound.cookies import MAX_COOKIES
from waypost.resources.imports.client import SourceClient
from waypost.resources.imports.source import SourceError, UnexpectedAnswer, WrongToken
from waypost.resources.pixels.events.platform_apis import Verdict, read_response
from waypost.resources.plan.stripe import Stripe

HERE = Path(__file__).parent
LATE = 30.0  # a deadline that is not meant to pass
OK = response(200, b"ok")
UNTITLED = PageMetadata()


def cases(name: str) -> list[Any]:
    found = [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]
    return [pytest.param(case, id=case["id"]) for case in found]


ANSWERS = cases("answers.jsonl")
PAGES = cases("pages.jsonl")


def of_role(role: str) -> Any:
    return pytest.mark.parametrize("case", [case for case in ANSWERS if role in case.values[0]["roles"]])


def sending(case: dict[str, Any]) -> Script:
    """Sends the answer for every path but the one that is to be followed."""
    long = re.compile(r"\{\{(.*?)\*(\d+)\}\}")
    answer = long.sub(lambda match: match[1] * int(match[2]), case["answer"]).encode("latin-1")

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        is_end = head.split()[1].decode() == case["expect"].get("followed")
        writer.write(response(200) if is_end else answer)
        await writer.drain()
        if case["then"].startswith("reset"):
            await asyncio.sleep(0.1)  # so that the client has most likely read the rest
            await servers.reset(reader, writer, head)

    return script


@pytest.fixture
async def poster(outbound: Outbound) -> AsyncIterator[Poster]:
    poster = Poster(outbound)
    yield poster
    await poster.close()


async def check(outbound: Outbound, url: str) -> PageMetadata:
    return await DestinationChecker(outbound, UrlSafety()).fetch_metadata(canonical(url), account=new_id())


async def post(poster: Poster, url: str) -> OutboundResponse:
    return await poster.post(canonical(url), headers={}, body=b"{}", deadline=LATE, max_body=65_536)


class TestReported:
    @of_role("destination")
    async def test_destination(self, outbound: Outbound, case: dict[str, Any]) -> None:
        expected = case["expect"]
        async with Receiver(sending(case)) as receiver:
            if expected["status"] == 422:
                with pytest.raises(Unreachable):
                    await check(outbound, receiver.url())
                return
            title = (await check(outbound, receiver.url())).title or "Untitled"
        if "title" in expected:
            assert title in expected["title"]
        if "followed" in expected:
            assert receiver.heads[-1].split()[1].decode() == expected["followed"]

    @of_role("webhook")
    async def test_webhook(self, poster: Poster, case: dict[str, Any]) -> None:
        """A delivery succeeds by any 2xx: tests/resources/webhooks/test_attempt.py."""
        async with Receiver(sending(case)) as receiver:
            try:
                has_delivered = 200 <= (await post(poster, receiver.url())).status < 300
            except Unreachable:
                has_delivered = False
        assert has_delivered is (case["expect"]["delivery"] == "delivered")

    @of_role("import_api")
    async def test_import(self, outbound: Outbound, case: dict[str, Any]) -> None:
        async with Receiver(sending(case)) as receiver:
            with pytest.raises(SourceError) as caught:
                await source(outbound, receiver.url()).get("/links")
        message = caught.value.message.lower()
        assert any(word in message for word in case["expect"]["said"])
        assert "token" not in message

    @pytest.mark.parametrize("case", PAGES)
    async def test_page(self, names: NameServer, outbound: Outbound, case: dict[str, Any]) -> None:
        headers = {name.replace("-", "_"): value for name, value in case.get("headers", {}).items()}
        async with Receiver(always(response(200, case["html"].encode(), content_type="text/html", **headers))) as r:
            found = await check(outbound, r.url())
        assert {name: getattr(found, name) or "Untitled" for name in case["expect"]} == case["expect"]


def source(outbound: Outbound, origin: str) -> SourceClient:
    async def wait(_seconds: float, reason: str) -> None:
        waits.append(reason)

    waits = list[str]()
    client = SourceClient(outbound, origin, headers={"Authorization": "Bearer abc"}, wait=wait)
    client.waits = waits
    return client


TITLE = b"<title>Yes</title>"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
SIZED = b"Content-Length: 18\r\n\r\n" + TITLE
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNK = b"12\r\n%b\r\n" % TITLE
READ = {
    "line feeds only": b"HTTP/1.1 200 OK\nContent-Length: 18\n\n" + TITLE,
    "no reason": b"HTTP/1.1 200\r\n" + SIZED,
    "lower case": b"http/1.1 200 ok\r\n" + SIZED,
    "http 1.0": b"HTTP/1.0 200 OK\r\n" + SIZED,
    "http 2.0": b"HTTP/2.0 200 OK\r\n" + SIZED,
    "no version": b"HTTP 200 OK\r\n" + SIZED,
    "two blanks": b"HTTP/1.1  200 OK\r\n" + SIZED,
    "blank lines before": b"\r\n\r\n" + HEAD + SIZED,
    "folded": HEAD + b"X: a\r\n b\r\n\tc\r\n" + SIZED,
    "folded at first": b"HTTP/1.1 200 OK\r\n folded\r\n" + SIZED,
    "no colon": HEAD + b"No colon\r\n" + SIZED,
    "no name": HEAD + b": value\r\n" + SIZED,
    "blank before colon": HEAD + SIZED.replace(b":", b" :"),
    "nul": HEAD + b"X: \0\r\n" + SIZED,
    "latin-1": HEAD + b"X-\xe9: \xe9\r\n" + SIZED,
    "lines nobody reads": HEAD + b"Content-Length: 18\r\n" + b"X: y\r\n" * 5_000 + b"\r\n" + TITLE,
    "two lengths": HEAD + b"Content-Length: 19\r\n" + SIZED,
    "equal lengths": HEAD + b"Content-Length: 18\r\n" + SIZED,
    "equal lengths in a line": HEAD + b"Content-Length: 18, 18\r\n\r\n" + TITLE,
    "length and identity": HEAD + b"Transfer-Encoding: identity\r\n" + SIZED,
    "chunked twice": HEAD + b"Transfer-Encoding: chunked\r\n" + CHUNKED[len(HEAD) :] + CHUNK + b"0\r\n\r\n",
    "chunked http 1.0": CHUNKED.replace(b"1.1", b"1.0") + CHUNK + b"0\r\n\r\n",
    "chunk sizes with blanks": CHUNKED + CHUNK.replace(b"\r", b"  \r") + b"0 \r\n\r\n",
    "chunks without end of line": CHUNKED + b"6\r\n<titlec\r\n>Yes</title>0\r\n\r\n",
    "chunks with line feeds": CHUNKED + CHUNK.replace(b"\r", b"") + b"0\n\n",
    "bad chunk after a good one": CHUNKED + CHUNK + b"oops\r\n",
    "bytes after chunks": CHUNKED + CHUNK + b"0\r\n\r\nmore",
    "trailers": CHUNKED + CHUNK + b"0\r\nX Y: z\r\n\r\n",
    "no line after chunks": CHUNKED + CHUNK + b"0\r\n",
    "untidy hints": b"HTTP/1.1 103 Early Hints\r\nX Y: z\r\n\r\n" + HEAD + SIZED,
}
READ_TO_THE_END = {
    "no length": b"HTTP/1.0 200 OK\r\n\r\n" + TITLE,
    "negative length": HEAD + b"Content-Length: -1\r\n\r\n" + TITLE,
    "length of no number": HEAD + b"Content-Length: \xb2\r\n\r\n" + TITLE,
    "length beyond all bounds": HEAD + b"Content-Length: 99999999999999999999\r\n\r\n" + TITLE,
    "unknown coding": HEAD + b"Transfer-Encoding: own\r\n\r\n" + TITLE,
}
TIDY = {
    "many lines": HEAD + b"Set-Cookie: a=b\r\n" * 500 + SIZED,
    "long line": HEAD + b"Content-Security-Policy: " + b"x" * 100_000 + b"\r\n" + SIZED,
    "upper case": CHUNKED.upper() + CHUNK + b"0\r\n\r\n",
    "extension": CHUNKED + CHUNK.replace(b"12", b"0012;a=b") + b"000\r\n\r\n",
    "hints": b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" + HEAD + SIZED,
}
ALL = {**READ, **READ_TO_THE_END, **TIDY}
COUNTED = {
    "head cut off": HEAD,
    "head cut off within a line": HEAD + b"Conte",
    "no-content in chunks": b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "chunks announced only": CHUNKED,
    "chunks announced wrongly": CHUNKED + TITLE,
    "endless chunk": CHUNKED + b"ffffffffffffffff\r\n",
    "gzip cut off": HEAD + b"Content-Encoding: gzip\r\nContent-Length: 99\r\n\r\n\x1f\x8b\x08",
}
NO_HTTP = {
    "no status": b"HTTP/1.1 OK\r\n\r\n",
    "long status": b"HTTP/1.1 2000 OK\r\n\r\n",
    "short status": b"HTTP/1.1 20 OK\r\n\r\n",
    "status below all": b"HTTP/1.1 099 OK\r\n\r\n",
    "html": TITLE * 9,
    "status line cut off": b"HTTP/1.1 200 OK",
    "hints only": b"HTTP/1.1 103 Early Hints\r\n\r\n",
}


class TestRead:
    @pytest.mark.parametrize("answer", ALL.values(), ids=ALL.keys())
    async def test_page(self, outbound: Outbound, answer: bytes) -> None:
        async with Receiver(always(answer)) as receiver:
            assert await check(outbound, receiver.url()) == PageMetadata(title="Yes")

    @pytest.mark.parametrize("answer", ALL.values(), ids=ALL.keys())
    async def test_post(self, poster: Poster, answer: bytes) -> None:
        """Nothing of an untidy answer can be taken for the next one: its connection is not used again."""
        async with Receiver(always(answer), keeps=answer not in READ_TO_THE_END.values()) as receiver:
            for _ in range(2):
                found = await post(poster, receiver.url())
                assert (found.status, found.body) == (200, TITLE)
            assert receiver.connections == (1 if answer in TIDY.values() else 2)


@pytest.mark.parametrize("answer", COUNTED.values(), ids=COUNTED.keys())
async def test_counts_without_a_body(outbound: Outbound, poster: Poster, answer: bytes) -> None:
    async with Receiver(always(answer)) as receiver:
        assert await check(outbound, receiver.url()) == UNTITLED
        assert (await post(poster, receiver.url())).status in {200, 204}


@pytest.mark.parametrize("answer", NO_HTTP.values(), ids=NO_HTTP.keys())
async def test_is_no_answer(outbound: Outbound, poster: Poster, answer: bytes) -> None:
    async with Receiver(always(answer)) as receiver:
        with pytest.raises(Unreachable):
            await check(outbound, receiver.url())
        with pytest.raises(Unreachable):
            await post(poster, receiver.url())


def broken(status: int) -> Script:
    return always(b"HTTP/1.1 %d No\r\nContent-Length: 1000\r\n\r\n<title>No" % status)


def stalling(status: int, **headers: str) -> Script:
    """The body never ends."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
        writer.write(response(status, b"<title>No", **headers)[:-1])
        await reader.read()

    return script


class TestStatusDecides:
    @pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 429])
    @pytest.mark.parametrize("script", [broken, stalling])
    async def test_an_error_whose_body_breaks_off_or_never_ends(
        self, outbound: Outbound, status: int, script: Callable[[int], Script]
    ) -> None:
        async with Receiver(script(status)) as receiver:
            assert await check(outbound, receiver.url()) == UNTITLED

    async def test_a_redirect_is_followed_before_its_body(self, outbound: Outbound) -> None:
        async with Receiver(paths({"/": stalling(302, location="/end"), "/end": page(TITLE.decode())})) as receiver:
            assert (await check(outbound, receiver.url())).title == "Yes"

    @pytest.mark.parametrize("status", [500, 503, 599])
    async def test_a_server_error_stays_one(self, outbound: Outbound, status: int) -> None:
        async with Receiver(broken(status)) as receiver:
            with pytest.raises(Unreachable, match=f"the server responded {status}"):
                await check(outbound, receiver.url())


class TestLocations:
    @pytest.mark.parametrize(
        ("location", "path"),
        [
            ("/caf\xe9", "/caf%E9"),
            ("/caf\xc3\xa9", "/caf%C3%A9"),
            ("/a?b=\xe9#\xe9", "/a?b=%E9"),
            ("/\xff\xfe", "/%FF%FE"),
            ("/%E9\xe9", "/%E9%E9"),
            ("/a b", "/a%20b"),
            ("\t/tab ", "/tab"),
        ],
    )
    async def test_bytes_are_sent_as_they_came(self, outbound: Outbound, location: str, path: str) -> None:
        first = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode("latin-1")
        async with Receiver(paths({"/": always(first), path: page(TITLE.decode())})) as receiver:
            assert (await check(outbound, receiver.url())).title == "Yes"

    async def test_a_name_in_utf_8(self, names: NameServer, outbound: Outbound) -> None:
        names.has("xn--caf-dma.test", [OPEN])
        async with Receiver(page(TITLE.decode())) as end:
            target = end.url(host="caf\xc3\xa9.test").encode("latin-1")
            first = b"HTTP/1.1 302 Found\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % target
            async with Receiver(always(first)) as receiver:
                assert (await check(outbound, receiver.url())).title == "Yes"

    @pytest.mark.parametrize("lines", [b"", b"Location:\r\n", b"Location: \r\nLocation:  \r\n"])
    async def test_without_one_the_answer_is_the_end(self, outbound: Outbound, lines: bytes) -> None:
        answer = b"HTTP/1.1 302 Found\r\n" + lines + b"Content-Length: 0\r\n\r\n"
        async with Receiver(always(answer)) as receiver:
            assert await check(outbound, receiver.url()) == UNTITLED
            assert receiver.connections == 1

    async def test_the_first_one_with_a_value_applies(self, outbound: Outbound) -> None:
        answer = b"HTTP/1.1 302 Found\r\nLocation:\r\nLocation: /end\r\nLocation: /other\r\n\r\n"
        async with Receiver(paths({"/": always(answer), "/end": page(TITLE.decode())})) as receiver:
            assert (await check(outbound, receiver.url())).title == "Yes"

    async def test_half_a_line_is_none(self, outbound: Outbound) -> None:
        async with Receiver(always(b"HTTP/1.1 302 Found\r\nLocation: /hal")) as receiver:
            assert await check(outbound, receiver.url()) == UNTITLED
            assert receiver.connections == 1


def wall(*set_cookies: str, wants: str = "a=b") -> Script:
    """Sets cookies and redirects to itself until it gets the one that it wants."""

    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        if f"\r\nCookie: {wants}\r\n".encode("latin-1") in head:
            writer.write(response(200, TITLE, content_type="text/html"))
            return
        lines = "".join(f"Set-Cookie: {text}\r\n" for text in set_cookies).encode("latin-1")
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: %b\r\n%b\r\n" % (head.split()[1], lines))

    return script


class TestCookies:
    @pytest.mark.parametrize(
        ("set_cookies", "wanted"),
        [
            (["a=b"], "a=b"),
            (["a=b; Path=/; HttpOnly; SameSite=Lax"], "a=b"),
            (["a=b;Domain=site.test"], "a=b"),
            (["a=b; domain=.SITE.test"], "a=b"),
            (["a=b; Domain=test"], "a=b"),
            (["a=b; Domain=other.test"], "a=b"),
            (["a=b; Expires=Fri, 01 Jan 2999 00:00:00 GMT"], "a=b"),
            (["a=b; Expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=60"], "a=b"),
            (["a=b; Expires=never"], "a=b"),
            (["a=b", "c=d; Max-Age=60"], "a=b; c=d"),
            (["c=old", "a=b", "c=; Max-Age=0"], "a=b"),
            (["a=b", "c=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], "a=b"),
            (["a=b", "c=; expires=Thu, 01-Jan-70 00:00:01 GMT"], "a=b"),
            (["a=1", "a=b"], "a=b"),
            (["a=\xe9\xff"], "a=\xe9\xff"),
            (["a=\xc3\xa0"], "a=\xc3\xa0"),
            (['a="b=c"'], 'a="b=c"'),
            (["a=\x01", "a=b", "=", "", "no", "b=\x7f"], "a=b"),
            ([f"c={'d' * 5_000}", "a=b"], "a=b"),
        ],
    )
    async def test_a_site_gets_its_cookies_back(
        self, names: NameServer, outbound: Outbound, set_cookies: list[str], wanted: str
    ) -> None:
        names.has("www.site.test", [OPEN])
        async with Receiver(wall(*set_cookies, wants=wanted)) as receiver:
            assert (await check(outbound, receiver.url("/page?a=b", host="www.site.test"))).title == "Yes"
            assert receiver.connections == 2

    async def test_each_check_begins_without_any(self, outbound: Outbound) -> None:
        checker = DestinationChecker(outbound, UrlSafety())
        async with Receiver(wall("a=b")) as receiver:
            for _ in range(2):
                await checker.fetch_metadata(canonical(receiver.url()), account=new_id())
        assert [b"Cookie" in head for head in receiver.heads] == [False, True, False, True]

    @pytest.mark.parametrize(
        ("cookie", "host", "comes_along"),
        [
            ("a=b", "www.site.test", True),
            ("a=b", "site.test", False),
            ("a=b", "other.test", False),
            ("a=b; Domain=site.test", "site.test", True),
            ("a=b; Domain=site.test", "shop.site.test", True),
            ("a=b; Domain=site.test", "elsewebsite.test", False),
            ("a=b; Domain=www.site.test", "shop.site.test", False),
            ("a=b; Domain=other.test", "other.test", False),
            ("a=b; Domain=test", "other.test", False),
            ("a=b; Secure", "www.site.test", False),
        ],
    )
    async def test_no_other_site_gets_them(
        self, names: NameServer, outbound: Outbound, cookie: str, host: str, comes_along: bool
    ) -> None:
        for name in {"www.site.test", host}:
            names.has(name, [OPEN])
        async with Receiver(page(TITLE.decode())) as end:
            first = always(response(302, location=end.url(host=host), set_cookie=cookie))
            async with Receiver(first) as receiver:
                await check(outbound, receiver.url(host="www.site.test"))
        assert (b"\r\nCookie: a=b\r\n" in end.heads[0]) is comes_along

    async def test_they_are_few(self, outbound: Outbound) -> None:
        async with Receiver(wall(*(f"c{number}=d" for number in range(900)))) as receiver:
            with pytest.raises(Unreachable, match="too many redirects"):
                await check(outbound, receiver.url())
        assert receiver.heads[-1].count(b"=d") == MAX_COOKIES


class TestChallenges:
    """Pages in front of an API."""

    PAGE = b"<!doctype html><title>Just a moment...</title>"

    @pytest.mark.parametrize(
        "answer",
        [
            response(403, PAGE, content_type="text/html; charset=UTF-8"),
            response(403, PAGE, Content_Type="TEXT/HTML"),
            response(403, b"{}", content_type="application/json", cf_mitigated="challenge"),
            response(401, b"<h1>401 Authorization Required</h1>", content_type="text/html"),
            response(403, PAGE, content_type="application/xhtml+xml"),
        ],
    )
    async def test_the_token_is_not_blamed(self, outbound: Outbound, answer: bytes) -> None:
        async with Receiver(always(answer)) as receiver:
            with pytest.raises(UnexpectedAnswer, match="HTML page"):
                await source(outbound, receiver.url()).get("/links")

    @pytest.mark.parametrize("status", [401, 403])
    async def test_an_api_refuses_the_token(self, outbound: Outbound, status: int) -> None:
        async with Receiver(always(response(status, b"{}", content_type="application/json"))) as receiver:
            with pytest.raises(WrongToken):
                await source(outbound, receiver.url()).get("/links")


JSON = {
    "as it should be": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b",
    "long line": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 20_000 + b"\r\nContent-Length: %d\r\n\r\n%b",
    "many lines": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"Content-Length: %d\r\n\r\n%b",
    "blank in name": b"HTTP/1.1 200 OK\r\nX Y: z\r\nContent-Length: %d\r\n\r\n%b",
    "ends late": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b\r\n",
    "ends early": b"HTTP/1.1 200 OK\r\nContent-Length: 9%d\r\n\r\n%b",
    "no last chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n",
}


@pytest.mark.parametrize("form", JSON.values(), ids=JSON.keys())
class TestEveryRole:
    def answering(self, form: bytes, content: Any) -> Script:
        body = json.dumps(content).encode()
        return always(form % (len(body), body))

    async def test_import(self, outbound: Outbound, form: bytes) -> None:
        async with Receiver(self.answering(form, [1])) as receiver:
            assert await source(outbound, receiver.url()).get("/links") == [1]

    async def test_safe_browsing(self, outbound: Outbound, form: bytes) -> None:
        bad = canonical("https://bad.test/")
        async with Receiver(self.answering(form, {"matches": [{"threat": {"url": bad.text}}]})) as receiver:
            assert await SafeBrowsing(outbound, "key", receiver.url()).find([bad]) == {bad}

    async def test_identity_provider(self, form: bytes) -> None:
        names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        async with Receiver(always(b"")) as receiver:
            issuer = receiver.url("")
            receiver._script = self.answering(form, {"issuer": issuer, **dict.fromkeys(names, receiver.url("/a"))})
            found = await Provider(OperatorOutbound(), Client(issuer, "id", "secret"), now).metadata()
        assert found.jwks_uri == receiver.url("/a")

    async def test_payments(self, outbound: Outbound, form: bytes) -> None:
        async with Receiver(self.answering(form, {"id": "cus_1"})) as receiver:
            assert await Stripe(outbound, "sk", receiver.url()).get("customers") == {"id": "cus_1"}

    async def test_pixel_events(self, poster: Poster, form: bytes) -> None:
        rejected = {"code": 40_001, "message": "no"}
        async with Receiver(self.answering(form, rejected)) as receiver:
            answer = await post(poster, receiver.url())
        verdict = read_response("tiktok", answer, 1, (), now())
        assert verdict == Verdict(rejected=1, reason="tiktok answered 200: no")


async def test_an_import_asks_again_for_what_was_cut_off(outbound: Outbound) -> None:
    answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[1, ", response(200, b"[1, 2]")]

    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
        writer.write(answers.pop(0))

    async with Receiver(script) as receiver:
        client = source(outbound, receiver.url())
        assert await client.get("/links") == [1, 2]
    assert client.waits == [f"{OPEN} cannot be reached (the response was cut off)"]


async def test_a_header_that_would_be_two_is_not_sent(outbound: Outbound) -> None:
    async with Receiver(always(OK)) as receiver:
        with pytest.raises(Unreachable, match="cannot be sent"):
            await outbound.request(
                "GET", canonical(receiver.url()), headers={"X": "a\r\nY: b"}, deadline=LATE, max_body=9
            )
        assert receiver.heads == []
