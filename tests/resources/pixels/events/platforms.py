"""Scripted platforms: they check a request as each documents it, and answer as they do.

What is known of them comes from their documentation, never from the code under test.
"""

import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any, Self

HANGS = "hangs"
"""A turn that does not answer until the server ends."""
TOKENS = {"facebook": "EAAB-the-token-of-meta", "tiktok": "tiktok|token/0123456789", "pinterest": "pina_THE_TOKEN_9"}
IDS = {"facebook": "1234567890123456", "tiktok": "C4A1B2C3D4E5F6G7", "pinterest": "549755885175/2613174167631"}
PATIENCE = 60.0  # seconds

Answer = tuple[int, Mapping[str, str], Any]


@dataclass(frozen=True)
class Received:
    platform: str
    path: str
    headers: Mapping[str, str]
    content: Any
    answer: int
    """The status it got; 0 when it got none."""

    @property
    def events(self) -> list[dict[str, Any]]:
        return self.content["data"]


class Platforms:
    """All three on one port: their paths tell them apart. `will` puts a turn before their own judgement."""

    def __init__(self) -> None:
        platforms = self

        class Endpoint(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                platforms._answer(self)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01])
        self._turns: dict[str, list[Any]] = defaultdict(list)
        self._received: list[Received] = []
        self._news = threading.Condition()
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def will(self, platform: str, *turns: Any) -> None:
        """Each turn a status, HANGS, or (status, headers, content); then its own judgement again."""
        self._turns[platform] += turns

    def received(self, platform: str = "") -> list[Received]:
        with self._news:
            return [each for each in self._received if platform in {"", each.platform}]

    def wait_for(self, platform: str, count: int) -> list[Received]:
        with self._news:
            done = self._news.wait_for(lambda: len(self.received(platform)) >= count, PATIENCE)
        assert done, f"{platform} got {len(self.received(platform))} requests, not {count}"
        return self.received(platform)

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        platform, judged = _judged(request.path, request.headers, body)
        turn = self._turns[platform].pop(0) if self._turns[platform] else judged
        status, headers, content = (turn, {}, {}) if isinstance(turn, int) else (0, {}, {}) if turn == HANGS else turn
        with self._news:
            known = Received(platform, request.path, dict(request.headers), json.loads(body), status)
            self._received.append(known)
            self._news.notify_all()
        if turn == HANGS:
            self._ended.wait()
            request.close_connection = True
            return
        answer = json.dumps(content).encode()
        request.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(answer)), **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(answer)


def _judged(path: str, headers: Mapping[str, str], body: bytes) -> tuple[str, Answer]:
    assert headers["Content-Type"] == "application/json"
    content = json.loads(body)
    for platform, (pattern, judge) in _ENDPOINTS.items():
        if re.fullmatch(pattern, path):
            return platform, judge(path, headers, content)
    return "unknown", (404, {}, {"message": "no such endpoint"})


def _meta(path: str, _headers: Mapping[str, str], content: Any) -> Answer:
    if content.get("access_token") != TOKENS["facebook"]:
        return 401, {}, _meta_error(190, f"Malformed access token {content.get('access_token')}")
    if path.split("/")[2] != IDS["facebook"]:
        return 400, {}, _meta_error(100, f"Object with ID '{path.split('/')[2]}' does not exist")
    if fault := _first(_meta_faults(content)):
        return 400, {}, _meta_error(100, f"Invalid parameter: {fault}")
    return 200, {}, {"events_received": len(content["data"]), "messages": [], "fbtrace_id": "A1"}


def _meta_error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "OAuthException", "code": code, "fbtrace_id": "A1"}}


def _meta_faults(content: Any) -> Iterator[str]:
    known = {"event_name", "event_time", "event_id", "event_source_url", "action_source", "user_data", "referrer_url"}
    yield from _unknown(content, {"data", "access_token"})
    yield from _sized(content["data"])
    for event in content["data"]:
        yield from _unknown(event, known)
        yield from _typed(event, event_name=str, event_time=int, event_id=str, event_source_url=str, user_data=dict)
        if (event["event_name"], event["action_source"]) != ("PageView", "website"):
            yield "event_name, action_source"
        if not event["event_source_url"].startswith(("http://", "https://")):
            yield "event_source_url"
        yield from _unknown(event["user_data"], {"client_ip_address", "client_user_agent"})
        if not event["user_data"].get("client_user_agent"):
            yield "client_user_agent"
        yield from _address(event["user_data"].get("client_ip_address"))


def _tiktok(_path: str, headers: Mapping[str, str], content: Any) -> Answer:
    """Always with status 200."""
    if headers.get("Access-Token") != TOKENS["tiktok"]:
        return 200, {}, {"code": 40105, "message": "Access token is incorrect or has been revoked.", "data": {}}
    if fault := _first(_tiktok_faults(content)):
        return 200, {}, {"code": 40002, "message": f"{fault}: invalid", "data": {}}
    return 200, {}, {"code": 0, "message": "OK", "request_id": "20261121", "data": {}}


def _tiktok_faults(content: Any) -> Iterator[str]:
    yield from _unknown(content, {"event_source", "event_source_id", "data"})
    if (content["event_source"], content["event_source_id"]) != ("web", IDS["tiktok"]):
        yield "event_source_id"
    yield from _sized(content["data"])
    for event in content["data"]:
        yield from _unknown(event, {"event", "event_time", "event_id", "user", "page"})
        yield from _typed(event, event=str, event_time=int, event_id=str, user=dict, page=dict)
        if event["event"] != "Pageview":
            yield "event"
        yield from _unknown(event["user"], {"ip", "user_agent"})
        yield from _unknown(event["page"], {"url", "referrer"})
        yield from _address(event["user"].get("ip"))
        if not event["page"].get("url"):
            yield "page.url"


def _pinterest(path: str, headers: Mapping[str, str], content: Any) -> Answer:
    if headers.get("Authorization") != f"Bearer {TOKENS['pinterest']}":
        return 401, {}, {"code": 2, "message": "Authentication failed."}
    if path.split("/")[3] != IDS["pinterest"].split("/")[0]:
        return 403, {}, {"code": 29, "message": "You are not permitted to access that resource."}
    if fault := _first(_pinterest_faults(content)):
        return 400, {}, {"code": 4196, "message": f"The request was invalid: {fault}"}
    events = [{"status": "processed", "error_message": "", "warning_message": ""} for _ in content["data"]]
    return 200, {}, {"num_events_received": len(events), "num_events_processed": len(events), "events": events}


def _pinterest_faults(content: Any) -> Iterator[str]:
    known = {"event_name", "action_source", "event_time", "event_id", "event_source_url", "user_data"}
    yield from _unknown(content, {"data"})
    yield from _sized(content["data"])
    for event in content["data"]:
        yield from _unknown(event, known)
        yield from _typed(event, event_name=str, action_source=str, event_time=int, event_id=str, user_data=dict)
        if (event["event_name"], event["action_source"]) != ("page_visit", "web"):
            yield "event_name, action_source"
        yield from _typed(event["user_data"], client_ip_address=str, client_user_agent=str)
        yield from _unknown(event["user_data"], {"client_ip_address", "client_user_agent"})
        yield from _address(event["user_data"].get("client_ip_address"))


def _unknown(fields: Mapping[str, Any], known: set[str]) -> Iterator[str]:
    yield from sorted(set(fields) - known)


def _typed(fields: Mapping[str, Any], **kinds: type) -> Iterator[str]:
    for name, kind in kinds.items():
        if type(fields.get(name)) is not kind or fields[name] in ("", {}):
            yield name


def _sized(events: Sequence[Any]) -> Iterator[str]:
    if not 0 < len(events) <= 1000:
        yield "data"


def _address(text: str | None) -> Iterator[str]:
    """Sent unhashed, if it is sent."""
    if text is not None:
        try:
            ip_address(text)
        except ValueError:
            yield "ip address"


def _first(faults: Iterator[str]) -> str:
    try:
        return next(faults, "")
    except KeyError as missing:
        return str(missing)


_ENDPOINTS: dict[str, tuple[str, Callable[[str, Mapping[str, str], Any], Answer]]] = {
    "facebook": (r"/v\d+\.0/[^/]+/events", _meta),
    "tiktok": (r"/open_api/v1\.3/event/track/", _tiktok),
    "pinterest": (r"/v5/ad_accounts/\d+/events", _pinterest),
}
