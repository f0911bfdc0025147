"""`waypost --remote URL …`: commands that call the API of a running service, through the client for Python."""

import os
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from waypost.commands.remote_domains import domain
from waypost.commands.remote_links import link
from waypost.commands.runner import EXIT_FAILED, EXIT_USAGE, problems_by_option, read_text, refuse_without_command, say

_KEY_VARIABLE = "WAYPOST_API_KEY"
_ARGUMENTS = {"destination_url": "URL", "tags": "--tag"}
"""Arguments and options by field, where they have another name."""

app = App(name="waypost", help="Call the API of a running service.", help_format="plaintext")
for group in (link, domain):
    app.command(group)


@app.meta.default
def run(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    remote: str,
    key_file: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
) -> Any:
    """Call the API of a running service.

    Parameters
    ----------
    remote
        Origin of the service, such as https://go.example.com.
    key_file
        File with the API key; - is stdin. Default: the environment variable WAYPOST_API_KEY.

    """
    if (code := refuse_without_command(app, tokens)) is not None:
        return code
    command, bound, ignored = app.parse_args(tokens, exit_on_error=False)
    if "client" not in ignored:  # --help
        return command(*bound.args, **bound.kwargs)
    if find_spec("waypost_client") is None:
        say("This needs the client for Python. Install it: pip install 'waypost[remote]'")
        return EXIT_FAILED
    return _call(partial(command, *bound.args, **bound.kwargs), remote, key_file)


def _call(command: Callable[..., Any], remote: str, key_file: Path | None) -> Any:
    from waypost_client import ValidationError, Waypost, WaypostError

    try:
        client = Waypost(remote, _read_key(key_file))
    except ValueError as error:
        say(_with_options(error))
        return EXIT_USAGE
    try:
        with client:
            return command(client=client)
    except ValidationError as error:
        say(problems_by_option(error.errors, _ARGUMENTS) or str(error))
        return EXIT_USAGE
    except WaypostError as error:
        say(_with_options(error))
        return EXIT_FAILED


def _read_key(file: Path | None) -> str:
    if file is not None:
        return sys.stdin.readline() if str(file) == "-" else read_text("--key-file", file)
    if key := os.environ.get(_KEY_VARIABLE):
        return key
    raise ValueError(f"Name a file with the API key (--key-file), or set {_KEY_VARIABLE}.")


def _with_options(error: Exception) -> str:
    """Return the message with the names of the command line."""
    return str(error).replace("base_url", "--remote").replace("api_key", "--key-file")
