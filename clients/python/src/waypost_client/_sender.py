"""Sends requests: builds them, sends them again after faults, and reads the responses."""

from __future__ import annotations

import json
import os
import platform
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from waypost_client._attempts import BUSY, UNCERTAIN, Attempts
from waypost_client._responses import read_file, read_response, retry_after
from waypost_client._values import OMITTED, File, Json, to_json
from waypost_client.errors import ConnectionFailed
from waypost_client.models import PageMeta
from waypost_client.pages import AsyncPages, Page, Pages, Query
from waypost_client.version import VERSION

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
FILE_FIELDS = ("og_image_file", "file")
_PREFIX = "/api/v1"
_CONNECT_TIMEOUT = 10.0


@dataclass(frozen=True)
class Options:
    """What applies to all requests of a client."""

    base_url: str
    api_key: str = field(repr=False)
    timeout: float
    retries: int

    @classmethod
    def checked(cls, base_url: str, api_key: str, timeout: float, retries: int) -> Options:
        """Raises ValueError, which never contains the key."""
        url = urlsplit(base_url.strip())
        is_origin = url.scheme in {"http", "https"} and url.hostname and "@" not in url.netloc
        if not is_origin or url.path.strip("/") or url.query or url.fragment:
            raise ValueError(
                f"base_url is the origin of the service, such as https://go.example.com, and not “{base_url}”."
            )
        key = api_key.strip()  # of the line that ends a file
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("api_key needs an API key, such as wp_live_….")
        return cls(f"{url.scheme}://{url.netloc}", key, timeout, retries)


class _Request(NamedTuple):
    method: str
    url: str
    headers: dict[str, str]
    query: dict[str, Any] | None = None
    content: bytes | None = None
    files: list[tuple[str, Any]] | None = None
    """Parts of a form."""


class _Call:
    """One request and its attempts."""

    def __init__(self, request: _Request, options: Options) -> None:
        self.request = request
        self._attempts = Attempts(options.retries)
        self._is_uncertain = False

    def after_fault(self, error: httpx.RequestError) -> float:
        """Return the seconds to wait before the next attempt. Raises ConnectionFailed if there is none."""
        self._is_uncertain = True
        seconds = self._attempts.wait(None)
        if seconds is None:
            method, url = self.request.method, self.request.url.partition("?")[0]
            what = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
            raise ConnectionFailed(f"{method} {url} failed: {what}") from error
        return seconds

    def after_response(self, response: httpx.Response) -> float | None:
        """Return the seconds to wait before the next attempt; None if this is the response to return."""
        seconds = retry_after(response)
        # 409: an earlier attempt with the same Idempotency-Key is still running
        if response.status_code in BUSY or (response.status_code == 409 and seconds is not None):
            self._is_uncertain |= response.status_code in UNCERTAIN
            return self._attempts.wait(seconds)
        return None

    def is_deleted(self, response: httpx.Response) -> bool:
        """Return whether an earlier attempt, whose response was lost, has deleted the object."""
        return self._is_uncertain and self.request.method == "DELETE" and response.status_code == 404


def _headers() -> dict[str, str]:
    return {
        "Accept": "application/json",
        "User-Agent": f"waypost-client/{VERSION} Python/{platform.python_version()}",
    }


def _build(
    options: Options,
    method: str,
    path: str,
    query: Json | None,
    body: Json | None,
    idempotency_key: str | None,
    if_match: str | None = None,
) -> _Request:
    headers = {**_headers(), "Authorization": f"Bearer {options.api_key}"}
    if method == "POST":
        headers["Idempotency-Key"] = idempotency_key or str(uuid4())
    if if_match is not None:
        headers["If-Match"] = if_match
    params = {name: to_json(each) for name, each in (query or {}).items() if each is not None} or None
    url = f"{options.base_url}{_PREFIX}/{path.lstrip('/')}"
    if body is None:
        return _Request(method, url, headers, params)
    fields = {name: each for name, each in body.items() if name not in FILE_FIELDS}
    for name in FILE_FIELDS:
        if body.get(name) is not None and body[name] is not OMITTED:
            return _Request(method, url, headers, params, files=_form(name, body[name], fields))
    headers["Content-Type"] = "application/json"
    return _Request(method, url, headers, params, json.dumps(to_json(fields), ensure_ascii=False).encode())


def _form(file_field: str, file: File, fields: Json) -> list[tuple[str, Any]]:
    """Return the parts of a form. Empty text means null."""
    parts: list[tuple[str, Any]] = [(file_field, ("image", _read_file(file)))]
    for name, value in to_json(fields).items():
        named: list[tuple[str, Any]]
        if isinstance(value, Mapping):
            named = [(f"{name}[{key}]", each) for key, each in value.items()]
        elif isinstance(value, list) and value:
            named = [(f"{name}[]", each) for each in value]
        else:
            named = [(name, value or "")]
        parts += [(field, (None, "" if text is None else str(text))) for field, text in named]
    return parts


def _read_file(file: File) -> bytes:
    """Read all of it, so that the request can be sent again."""
    if isinstance(file, bytes):
        return file
    if isinstance(file, os.PathLike):
        return Path(file).read_bytes()
    return file.read()


def _download(url: str) -> _Request:
    """The request of a signed URL, which gets no API key: it may be on another host."""
    if urlsplit(url).scheme not in {"http", "https"}:
        raise ValueError(f"“{url}” is not the URL of an image, such as image_url of a QR code.")
    return _Request("GET", url, {**_headers(), "Accept": "*/*"})


def _read_page(read: Callable[[Any], T]) -> Callable[[Any], Any]:
    return lambda payload: Page([read(each) for each in payload["data"]], PageMeta.from_json(payload["meta"]))


class Sender:
    """Sends requests with httpx, of which each process has its own client: connections must not be shared by a fork."""

    def __init__(self, options: Options, client: httpx.Client | None) -> None:
        import httpx  # noqa: PLC0415  # 0.1 s, which receivers of webhooks need not wait

        self._options = options
        self._fault = httpx.RequestError
        self._is_own = client is None
        timeout = httpx.Timeout(options.timeout, connect=min(options.timeout, _CONNECT_TIMEOUT))
        self._new: Callable[[], httpx.Client] = lambda: httpx.Client(timeout=timeout)
        self._client = client or self._new()
        self._process = os.getpid()
        self.sleep: Callable[[float], None] = time.sleep

    def close(self) -> None:
        if self._is_own:
            self._client.close()

    def send(
        self,
        read: Callable[[Any], T],
        method: str,
        path: str,
        *,
        query: Json | None = None,
        body: Json | None = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> T:
        call = _Call(_build(self._options, method, path, query, body, idempotency_key, if_match), self._options)
        response = self._respond(call)
        return read(None) if call.is_deleted(response) else read_response(response, read)

    def fetch_file(self, method: str, path: str, *, body: Json) -> bytes:
        return read_file(self._respond(_Call(_build(self._options, method, path, None, body, None), self._options)))

    def download(self, url: str) -> bytes:
        return read_file(self._respond(_Call(_download(url), self._options)))

    def pages(self, read: Callable[[Any], Any], path: str, query: Query) -> Pages[Any]:
        read_page = _read_page(read)
        return Pages(lambda page_query: self.send(read_page, "GET", path, query=page_query), query)

    def _respond(self, call: _Call) -> httpx.Response:
        while True:
            seconds: float | None
            try:
                response = self._attempt(call.request)
            except self._fault as error:
                seconds = call.after_fault(error)
            else:
                seconds = call.after_response(response)
                if seconds is None:
                    return response
            self.sleep(seconds)

    def _attempt(self, request: _Request) -> httpx.Response:
        if self._process != os.getpid() and self._is_own:
            self._client, self._process = self._new(), os.getpid()
        return self._client.request(
            request.method,
            request.url,
            headers=request.headers,
            params=request.query,
            content=request.content,
            files=request.files,
        )


class AsyncSender:
    """Like `Sender`, asynchronous."""

    def __init__(self, options: Options, client: httpx.AsyncClient | None) -> None:
        import anyio  # noqa: PLC0415  # see httpx
        import httpx  # noqa: PLC0415  # 0.1 s, which receivers of webhooks need not wait

        self._options = options
        self._fault = httpx.RequestError
        self._is_own = client is None
        timeout = httpx.Timeout(options.timeout, connect=min(options.timeout, _CONNECT_TIMEOUT))
        self._new: Callable[[], httpx.AsyncClient] = lambda: httpx.AsyncClient(timeout=timeout)
        self._client = client or self._new()
        self._process = os.getpid()
        self.sleep = anyio.sleep

    async def close(self) -> None:
        if self._is_own:
            await self._client.aclose()

    async def send(
        self,
        read: Callable[[Any], T],
        method: str,
        path: str,
        *,
        query: Json | None = None,
        body: Json | None = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> T:
        call = _Call(_build(self._options, method, path, query, body, idempotency_key, if_match), self._options)
        response = await self._respond(call)
        return read(None) if call.is_deleted(response) else read_response(response, read)

    async def fetch_file(self, method: str, path: str, *, body: Json) -> bytes:
        request = _build(self._options, method, path, None, body, None)
        return read_file(await self._respond(_Call(request, self._options)))

    async def download(self, url: str) -> bytes:
        return read_file(await self._respond(_Call(_download(url), self._options)))

    def pages(self, read: Callable[[Any], Any], path: str, query: Query) -> AsyncPages[Any]:
        read_page = _read_page(read)
        return AsyncPages(lambda page_query: self.send(read_page, "GET", path, query=page_query), query)

    async def _respond(self, call: _Call) -> httpx.Response:
        while True:
            seconds: float | None
            try:
                response = await self._attempt(call.request)
            except self._fault as error:
                seconds = call.after_fault(error)
            else:
                seconds = call.after_response(response)
                if seconds is None:
                    return response
            await self.sleep(seconds)

    async def _attempt(self, request: _Request) -> httpx.Response:
        if self._process != os.getpid() and self._is_own:
            self._client, self._process = self._new(), os.getpid()
        return await self._client.request(
            request.method,
            request.url,
            headers=request.headers,
            params=request.query,
            content=request.content,
            files=request.files,
        )
