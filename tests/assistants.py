"""Assistants: the official SDK's client, over HTTP and over stdio, with both generations of the protocol."""

import contextlib
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from forked import WAYPOST
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

MODES = ("auto", "legacy")
"""Without and with the handshake that older clients begin with."""


@contextlib.asynccontextmanager
async def over_http(url: str, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@contextlib.asynccontextmanager
async def over_stdio(url: str, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    command = StdioServerParameters(
        command=str(WAYPOST), args=["mcp", "--url", url], env=environment | {"WAYPOST_API_KEY": key}
    )
    async with Client(command, mode=mode) as client:
        yield client


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The result of a call that succeeds. Text and structured content are the same."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, text_of(answer)
    assert json.loads(text_of(answer)) == answer.structured_content
    return answer.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """What an assistant reads about a call that fails."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer
    return text_of(answer)


def text_of(answer: CallToolResult) -> str:
    return answer.content[0].text
