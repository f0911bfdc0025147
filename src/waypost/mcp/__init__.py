"""A Model Context Protocol server: tools with which assistants manage links.

A tool calls endpoints of the API inside the process that answers `/mcp`, for the caller of the request.
"""
