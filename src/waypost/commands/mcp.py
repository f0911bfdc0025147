"""`waypost mcp`: a Model Context Protocol server on stdio, for assistants on this machine."""

import asyncio
import os
from importlib.util import find_spec
from pathlib import Path

from waypost.commands.runner import EXIT_FAILED, EXIT_OK, read_text, say
from waypost.kit.errors import Invalid
from waypost.kit.urls import BadUrl, origin
from waypost.settings import read_for_command, refuse

_KEY_VARIABLE = "WAYPOST_API_KEY"


def serve(url: str | None, key_file: Path | None) -> int:
    """Serve until stdin ends. Raises Invalid and SettingsError."""
    if find_spec("mcp") is None:
        say("This needs the SDK of the Model Context Protocol. Install it: pip install 'waypost[mcp]'")
        return EXIT_FAILED
    service, key = _configured() if url is None else _origin(url), _read_key(key_file)
    from waypost.mcp import stdio

    asyncio.run(stdio.run(service, key))
    return EXIT_OK


def _configured() -> str:
    settings, problems = read_for_command()
    refuse(problems)
    return settings.base_url


def _origin(url: str) -> str:
    try:
        return origin(url)
    except BadUrl as error:
        raise Invalid({"url": [f"{error} Write the origin of the service, such as https://go.example.com."]}) from None


def _read_key(file: Path | None) -> str:
    key = (os.environ.get(_KEY_VARIABLE, "") if file is None else read_text("--key-file", file)).strip()
    if not key.isascii() or not key.isprintable() or not key or " " in key:
        raise Invalid({"key_file": [f"Name a file with an API key, such as wp_live_…, or set {_KEY_VARIABLE}."]})
    return key
