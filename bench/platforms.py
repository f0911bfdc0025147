"""Fake ad platforms: their hosts on loopback over TLS, with scripts that fire like theirs. Also a destination.

Start Chromium with `arguments` to use them. Every request is recorded. Hosts can hang, or close connections.
"""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import trustme

DESTINATION = "http://destination.test/"
_FACEBOOK = """(() => {
  const ids = [];
  const handle = (what, ...rest) => {
    if (what === "init") ids.push(rest[0]);
    if (what === "track") for (const id of ids) {
      const params = new URLSearchParams({ id, ev: rest[0], eid: rest[2].eventID });
      new Image().src = "https://www.facebook.com/tr/?" + params;
    }
  };
  fbq.callMethod = handle;
  for (const given of fbq.queue) handle(...given);
})();"""
_TIKTOK = """(() => {
  const own = new URL(document.currentScript.src).searchParams;
  const queue = window[own.get("lib")];
  if (!(own.get("sdkid") in queue._i)) throw new Error("not loaded");
  for (const [what, properties, options] of queue) if (what === "page") {
    const params = new URLSearchParams({ id: own.get("sdkid"), ev: "Pageview", eid: options.event_id });
    navigator.sendBeacon("https://analytics.tiktok.com/api/v2/pixel?" + params, "{}");
  }
})();"""
_PINTEREST = """(() => {
  const ids = [];
  for (const [what, given] of pintrk.queue) {
    if (what === "load") ids.push(given);
    if (what === "page") for (const id of ids) {
      const params = new URLSearchParams({ id, ev: "page", eid: given.event_id });
      fetch("https://ct.pinterest.com/v3/?" + params, { mode: "no-cors", keepalive: true });
    }
  }
})();"""
_GOOGLE = """(() => {
  for (const [what, id] of dataLayer) if (what === "config") {
    const params = new URLSearchParams({ id, ev: "page_view", eid: "" });
    new Image().src = "https://googleads.g.doubleclick.net/pagead/viewthroughconversion/?" + params;
  }
})();"""
_SCRIPTS = {
    "connect.facebook.net/en_US/fbevents.js": _FACEBOOK,
    "analytics.tiktok.com/i18n/pixel/events.js": _TIKTOK,
    "s.pinimg.com/ct/core.js": _PINTEREST,
    "www.googletagmanager.com/gtag/js": _GOOGLE,
}
_PLATFORMS = {
    "www.facebook.com": "facebook",
    "analytics.tiktok.com": "tiktok",
    "ct.pinterest.com": "pinterest",
    "googleads.g.doubleclick.net": "google_ads",
}
SCRIPT_HOSTS = {
    "facebook": "connect.facebook.net",
    "tiktok": "analytics.tiktok.com",
    "pinterest": "s.pinimg.com",
    "google_ads": "www.googletagmanager.com",
}


@dataclass
class Platforms:
    arguments: list[str] = field(default_factory=list)
    """For Chromium: resolve the platforms and destination.test to this server, go.test to 127.0.0.1, nothing else."""
    requests: list[tuple[float, str]] = field(default_factory=list)
    """(monotonic seconds, URL without scheme), in order."""
    hanging: set[str] = field(default_factory=set)
    hanging_up: set[str] = field(default_factory=set)

    def fired(self) -> list[tuple[str, str, str, str]]:
        """(platform, pixel, event, event id) of each pixel's request, sorted by platform."""
        return sorted(found for _, url in self.requests if (found := _fired(url)))

    def first(self, start: str) -> float:
        return next(at for at, url in self.requests if url.startswith(start))

    def clear(self) -> None:
        self.requests.clear()

    def reset(self) -> None:
        self.clear()
        self.hanging, self.hanging_up = set(), set()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            while await self._answer_one(reader, writer):
                await writer.drain()
        writer.transport.abort()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        await reader.readexactly(int(headers.get("content-length", 0)))
        host = headers["host"]
        self.requests.append((time.monotonic(), host + lines[0].split(" ")[1]))
        if host in self.hanging:
            await reader.read()
        if host in self.hanging | self.hanging_up:
            return False
        kind, body = _body(self.requests[-1][1])
        writer.write(
            f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncache-control: no-store\r\n"
            f"content-length: {len(body)}\r\n\r\n{body}".encode()
        )
        return True


@contextlib.asynccontextmanager
async def platforms() -> AsyncIterator[Platforms]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("platforms.test").configure_cert(context)
    found = Platforms()
    secure = await asyncio.start_server(found.answer, "127.0.0.1", 0, ssl=context)
    plain = await asyncio.start_server(found.answer, "127.0.0.1", 0)
    ports = [server.sockets[0].getsockname()[1] for server in (secure, plain)]
    found.arguments = ["--no-sandbox", f"--host-resolver-rules={_rules(*ports)}", "--ignore-certificate-errors"]
    try:
        yield found
    finally:
        for server in (secure, plain):
            server.close()


def _rules(secure: int, plain: int) -> str:
    named = [f"MAP {host} 127.0.0.1:{secure}" for host in {*SCRIPT_HOSTS.values(), *_PLATFORMS}]
    own = ["MAP go.test 127.0.0.1", f"MAP destination.test 127.0.0.1:{plain}"]
    return ", ".join([*named, *own, "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1", "EXCLUDE localhost"])


def _body(url: str) -> tuple[str, str]:
    if url.startswith("destination.test/"):
        return "text/html", "<!doctype html><link rel=icon href='data:,'><title>There</title><p>There you are."
    script = _SCRIPTS.get(url.partition("?")[0])
    return ("text/javascript", script) if script else ("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"/>')


def _fired(url: str) -> tuple[str, str, str, str] | None:
    parts = urlsplit(f"//{url}")
    params = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    if parts.netloc not in _PLATFORMS or "eid" not in params:
        return None
    return _PLATFORMS[parts.netloc], params["id"], params["ev"], params["eid"]
