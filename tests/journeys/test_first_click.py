"""docs/get-started/first-click.md: its commands, in the order of the page.

They run as printed but for three things that a machine for tests lacks: port 8000, the internet, and somebody who
pastes the key.
"""

import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from architecture.code import ROOT
from journeys.service import Website, eventually, free_port

PAGE = (ROOT / "docs" / "get-started" / "first-click.md").read_text()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[tuple[int, str]]:
    """The port of a service that `make run` has started on a terminal, and what it has printed."""
    assert "`make run`" in PAGE
    port = free_port()
    terminal, its_end = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WAYPOST_", "MAKE"))}
    settings = {"WAYPOST_DATA_DIR": str(tmp_path / "data"), "WAYPOST_OUTBOUND_ALLOW": "127.0.0.0/8"}
    process = subprocess.Popen(
        ["make", "run", f"ARGS=--port {port}"],
        cwd=ROOT,
        env=clean | settings,
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        start_new_session=True,
    )
    os.close(its_end)
    try:
        yield port, _read_until(terminal, "Follow it:")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        os.close(terminal)


def _read_until(terminal: int, end: str) -> str:
    text = ""
    while end not in text:
        text += os.read(terminal, 1 << 16).decode()  # EIO if the service ends before
    return text


def test_the_commands_of_the_first_click_work(started: tuple[int, str]) -> None:
    port, printed = started
    assert f"Waypost is ready at http://localhost:{port}" in printed
    assert "Sign in to the dashboard (works once, for 15 minutes)" in printed
    key = re.search(r"API key of owner@waypost.localhost \(shown only once\): (\S+)", printed)
    assert key
    with Website() as website:

        def run(command: str) -> str:
            for there, here in (("localhost:8000", f"localhost:{port}"), ("https://example.com", website.url)):
                command = command.replace(there, here)
            shell = ["sh", "-euc", f"KEY={key[1]}\n{command}"]
            return subprocess.run(shell, capture_output=True, text=True, check=True).stdout

        paste, create, follow, clicks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
        assert paste == "KEY=wp_…\n"
        assert key[1].startswith("wp_")
        link = json.loads(run(create))["data"]
        answer = run(follow)
        assert answer.startswith("HTTP/1.1 302 Found\n")
        assert f"\nlocation: {website.url}/\n" in answer

        def listed() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = json.loads(run(clicks))["data"]
            return found

        eventually(lambda: len(listed()) == 1, every=0.1)
        assert listed()[0]["link_id"] == link["id"]
