"""Encodes what packages put into the archive of an account: files in parts, so that memory holds one batch of rows."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from waypost.kit.csv_cells import csv_text

FORMAT = "waypost-export"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"

T = TypeVar("T")

_encode_json = json.JSONEncoder(ensure_ascii=False).encode


class Part(NamedTuple):
    """Of a file in the archive."""

    content: bytes
    rows: int = 0


Files = Mapping[str, AsyncIterator[Part]]
"""By name. Each is read in short transactions, when the ones before it are written."""


async def text_file(text: str) -> AsyncIterator[Part]:
    yield Part(text.encode())


def ndjson_file(batches: AsyncIterator[Sequence[Mapping[str, Any]]]) -> AsyncIterator[Part]:
    return encoded(batches, lambda batch: "".join(f"{_encode_json(row)}\n" for row in batch))


async def csv_file(
    columns: Sequence[str], batches: AsyncIterator[Sequence[T]], encode: Callable[[Sequence[T]], str]
) -> AsyncIterator[Part]:
    yield Part(csv_text([columns]).encode())
    async for part in encoded(batches, encode):
        yield part


async def encoded(batches: AsyncIterator[Sequence[T]], encode: Callable[[Sequence[T]], str]) -> AsyncIterator[Part]:
    """Encode in a thread. JSON has an escape for half of a surrogate pair, which a visitor may send."""
    async for batch in batches:
        text = await asyncio.to_thread(encode, batch)
        yield Part(text.encode(errors="backslashreplace"), len(batch))
