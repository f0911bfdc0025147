"""The pixel page as the redirects send it; `tests/browser` shows what it does in a browser."""

import json
import re
from uuid import UUID

import pytest
from wire import HOST, LINK

from waypost.redirect import new_route

PIXELS = [(UUID(int=1), "facebook", "1234567890"), (UUID(int=2), "google_ads", "AW-42")]
HUMAN = b"User-Agent: Mozilla/5.0"
BOT = b"User-Agent: ExampleBot/1.0"
DESTINATION = "https://example.com/?a=1&b=2"
HOSTILE = "</script><script>alert(1)</script><!--\u2028'\"{{7*7}} ${x} %s"


def tagged(pixels=PIXELS, destination=DESTINATION):
    return new_route(HOST, destination, UUID(LINK.decode()), pixels=pixels)


@pytest.fixture(autouse=True)
def link(source) -> None:
    source.routes[b"tagged"] = tagged()


def asks(*headers: bytes, method: bytes = b"GET") -> bytes:
    return b"\r\n".join([method + b" /tagged HTTP/1.1", b"Host: " + HOST, *(headers or [HUMAN]), b"", b""])


def headers_of(answer: bytes) -> dict[bytes, bytes]:
    lines = answer.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    return dict(line.split(b": ", 1) for line in lines)


def data_of(answer: bytes) -> dict:
    return json.loads(re.search(rb'<script type="application/json" id="visit">(.*?)</script>', answer)[1])


def nonce_of(answer: bytes) -> bytes:
    return re.search(rb"'nonce-([^']+)'", answer)[1]


async def test_a_visit_gets_the_pixel_page(fast, visits) -> None:
    answer = await fast.say(asks())
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    (visit,) = visits()
    assert visit.pixels == b"f%032x,g%032x" % (1, 2)
    assert data_of(answer) == {
        "to": DESTINATION,
        "pixels": [["facebook", "1234567890"], ["google_ads", "AW-42"]],
        "visit": visit.id.decode(),
    }
    assert (
        b'<noscript><meta http-equiv="refresh" content="0;url=https://example.com/?a=1&amp;b=2"></noscript>' in answer
    )


async def test_the_head_of_the_page(fast) -> None:
    answer = await fast.say(asks())
    headers = headers_of(answer)
    assert headers[b"content-type"] == b"text/html; charset=utf-8"
    assert headers[b"cache-control"] == b"private, no-store"
    assert headers[b"x-robots-tag"] == b"noindex"
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"referrer-policy"] == b"no-referrer-when-downgrade"
    rules = dict(rule.split(b" ", 1) for rule in headers[b"content-security-policy"].split(b"; "))
    none = dict.fromkeys([b"default-src", b"base-uri", b"form-action", b"frame-ancestors"], b"'none'")
    assert none.items() <= rules.items()
    assert rules[b"script-src"] == b"'nonce-%s' 'strict-dynamic'" % nonce_of(answer)
    assert rules.keys() - none.keys() == {b"script-src", b"img-src", b"connect-src", b"frame-src"}


async def test_the_policy_allows_hosts_of_the_platforms_in_use_only(fast, source) -> None:
    source.routes[b"tagged"] = tagged([(UUID(int=3), "pinterest", "26")])
    answer = await fast.say(asks())
    assert b"connect-src https://ct.pinterest.com; " in answer
    assert b"facebook" not in headers_of(answer)[b"content-security-policy"]
    assert data_of(answer)["pixels"] == [["pinterest", "26"]]


async def test_every_answer_has_its_own_nonce(fast) -> None:
    said = [await fast.say(asks() * 100, answers=100) for _ in range(6)]  # more than are taken from the kernel at once
    answers = b"".join(said)
    nonces = re.findall(rb"'nonce-([0-9a-f]{32})'", answers)
    assert len(set(nonces)) == 600
    assert re.findall(rb'<script nonce="(.*?)">', answers) == nonces
    assert len(set(re.findall(rb'"visit":"(.*?)"', answers))) == 600


async def test_hostile_texts_stay_data(fast, source) -> None:
    pixels = [(UUID(int=n), platform, HOSTILE) for n, platform in enumerate(["facebook", "tiktok", "google_ads"])]
    source.routes[b"tagged"] = tagged(pixels, "https://example.com/'><script>alert(1)</script>&quot;")
    answer = await fast.say(asks())
    assert answer.count(b"<script") == 2
    assert answer.count(b"</script") == 2
    assert [theirs for _, theirs in data_of(answer)["pixels"]] == [HOSTILE] * 3
    assert b'url=https://example.com/&#x27;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;quot;"' in answer


@pytest.mark.parametrize(
    "header", [b"Sec-GPC: 1", b"DNT: 1", b"Sec-Purpose: prefetch;prerender", b"Purpose: prefetch", b"X-Moz: prefetch"]
)
@pytest.mark.parametrize("how", [b"Accept: */*", b"Connection: close"])
async def test_fires_nothing_for_prefetches_and_privacy_requests(header: bytes, how: bytes, fast, visits) -> None:
    answer = await fast.say(asks(HUMAN, header, how))
    assert answer.startswith(b"HTTP/1.1 302 Found\r\n")
    assert headers_of(answer)[b"location"] == DESTINATION.encode()
    (visit,) = visits()
    assert visit.pixels == b""


async def test_a_bot_gets_its_preview(fast, visits, previews) -> None:
    previews.is_gone = True
    assert (await fast.say(asks(BOT))).startswith(b"HTTP/1.1 302 Found\r\n")
    previews.is_gone = False
    assert (await fast.say(asks(BOT))).endswith(b"<title>" + LINK + b"</title>")
    assert [visit.pixels for visit in visits()] == [b"", b""]


async def test_head_fires_nothing(fast, visits) -> None:
    answer = await fast.say(asks(method=b"HEAD"), bodies=False)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\n")
    page = (await fast.say(asks())).partition(b"\r\n\r\n")[2]
    assert headers_of(answer)[b"content-length"] == b"%d" % len(page)
    assert len(visits()) == 1


async def test_both_paths_answer_the_same(fast, plain, visits) -> None:
    ours, theirs = await fast.say(asks()), await plain.say(asks())
    assert _comparable(ours) == _comparable(theirs)
    assert [visit.pixels for visit in visits()] == [b"f%032x,g%032x" % (1, 2)] * 2
    assert {data_of(ours)["visit"], data_of(theirs)["visit"]} == {visit.id.decode() for visit in visits()}


def _comparable(answer: bytes) -> tuple[list[bytes], bytes]:
    for filled_in in (nonce_of(answer), data_of(answer)["visit"].encode()):
        answer = answer.replace(filled_in, b"-")
    head, _, body = answer.partition(b"\r\n\r\n")
    return sorted(line for line in head.split(b"\r\n") if not line.startswith(b"date:")), body


async def test_a_link_without_active_pixels_redirects(fast, source, feed) -> None:
    assert b" 200 OK" in await fast.say(asks())
    source.routes[b"tagged"] = tagged([])
    feed.publish(["tagged"])
    assert b" 302 Found" in await fast.say(asks())


def test_routes_with_the_same_platforms_share_a_policy() -> None:
    first, second = [tagged([(UUID(int=n), "tiktok", f"C{n}")]) for n in range(2)]
    assert first[3][1] is second[3][1]
