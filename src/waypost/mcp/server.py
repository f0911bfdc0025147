"""The protocol, spoken by the official SDK. Loaded at the first request: 0.3 s and 26 MB."""

import base64
import logging
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.types import Receive, Scope, Send

from waypost.mcp.api_calls import ToolError
from waypost.mcp.definitions import BY_NAME, DEFINITIONS, INSTRUCTIONS, Definition
from waypost.mcp.results import to_text
from waypost.mcp.tools import ToolAnswer, Tools
from waypost.version import VERSION
from waypost.web.body import MAX_JSON
from waypost.web.envelope import log_server_error

__all__ = ["Tools", "respond"]

logging.getLogger("mcp").setLevel(logging.ERROR)  # below that it reports what any client may send


async def respond(tools: Tools, scope: Scope, receive: Receive, send: Send) -> None:
    """Respond to one message. Nothing of it remains in this process, so any node can answer the next one."""
    manager = StreamableHTTPSessionManager(
        _new_server(tools, scope), json_response=True, stateless=True, max_request_body_size=MAX_JSON
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)


def _new_server(tools: Tools, scope: Scope) -> Server[Any]:
    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_TOOLS[each.name] for each in tools.usable()])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        definition = BY_NAME.get(params.name)
        if definition is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool. Use: {', '.join(_TOOLS)}.")
        try:
            return _result(await tools.call(definition, params.arguments or {}))
        except ToolError as error:
            return _failure(str(error))
        except Exception as error:  # noqa: BLE001  # the SDK would log it without context
            error_id = log_server_error(error, scope)
            return _failure(f"Something went wrong on our side. The error ID is {error_id}.")

    return Server(
        "waypost",
        version=VERSION,
        title="Waypost",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda _name: None,  # no argument is also a header: the SDK need not list the tools
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _result(answer: ToolAnswer) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(text=to_text(answer.result))]
    if answer.image is not None:
        content.append(types.ImageContent(data=base64.b64encode(answer.image).decode(), mime_type="image/png"))
    return types.CallToolResult(content=content, structured_content=answer.result)


def _failure(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)


def _tool(definition: Definition) -> types.Tool:
    return types.Tool(
        name=definition.name,
        description=definition.description,
        input_schema=definition.schema,
        annotations=types.ToolAnnotations(
            read_only_hint=definition.is_read_only,
            destructive_hint=definition.is_destructive,
            idempotent_hint=definition.is_idempotent,
            open_world_hint=definition.is_open,
        ),
    )


_TOOLS = {definition.name: _tool(definition) for definition in DEFINITIONS}
