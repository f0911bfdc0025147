"""A small HTTP client that uses little CPU and times each response. Supports only responses with a content length."""

import asyncio
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Response:
    status: int
    body: bytes
    milliseconds: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def data(self) -> Any:
        return self.json["data"]


class Client:
    """One persistent connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        self._reader = reader
        self._writer = writer
        self._host = f"127.0.0.1:{port}"

    @classmethod
    async def open(cls, port: int) -> Self:
        return cls(*await asyncio.open_connection("127.0.0.1", port), port)

    async def request(
        self, method: str, path: str, *, key: str, body: object = None, content: bytes = b"", content_type: str = ""
    ) -> Response:
        """`body` is sent as JSON, `content` unchanged with its `content_type`."""
        if body is not None:
            content, content_type = json.dumps(body).encode(), "application/json"
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nAuthorization: Bearer {key}\r\n"
        if content:
            head += f"Content-Type: {content_type}\r\nContent-Length: {len(content)}\r\n"
        began = time.perf_counter()
        self._writer.write(f"{head}Accept: application/json\r\n\r\n".encode() + content)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
        response = await self._reader.readexactly(length)
        return Response(int(lines[0].split()[1]), response, (time.perf_counter() - began) * 1000)

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]
