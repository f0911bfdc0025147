"""README and docs/get-started: every block of shell commands runs as it is printed, in the order of its page.

What runs until it is stopped, such as `make run`, starts on a terminal of its own. `docker` is a stand-in. A block
that neither runs nor has a reason in NOT_RUN fails.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from architecture.code import ROOT
from documented import machine

RUN = ("README.md", "compose.md", "container.md")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
NOT_RUN = {
    "README.md": {"uvx waypost serve": "tests/release installs and starts the package"},
    "compose.md": {
        "git clone": "tests/deployments runs the containers of all profiles",
        "docker compose pull\ndocker compose up migrate": "tests/deployments starts both nodes",
        "docker compose cp waypost:/run/waypost/secret_key": "needs PostgreSQL: tests/test_backup_docs.py",
        "docker compose up --detach --wait postgres": "needs PostgreSQL, too",
    },
    "container.md": {
        "sudo install": "needs root",
        "make image": "tests/container builds the image and runs it",
    },
    "debian-package.md": {"": "needs systemd and a published release; tests/packages does the same"},
    "installation.md": {"gh attestation": "verifies a published release"},
    "kubernetes.md": {"": "needs a cluster; tests/deployments runs what the manifests say"},
    "systemd.md": {"": "needs systemd; tests/deployments boots the unit and the command"},
}
"""By page: the beginnings of blocks that do not run, with the reason."""
BEGIN = """
started() {
    [ -e ~/service.pid ] || return 0
    until grep -q 'is ready at' ~/service.log; do kill -0 "$(cat ~/service.pid)"; sleep 0.1; done
}
"""
START = """
script -qefc {command} ~/terminal.log > /dev/null < /dev/null &
until grep -q 'Follow it:' ~/terminal.log; do kill -0 $!; sleep 0.1; done
grep -o 'wp_live_[A-Za-z0-9_-]*' ~/terminal.log | head -1 > ~/key
exec < ~/key
"""
"""A block that starts the service; then the reader copies the key."""
UNTIL_COUNTED = """
for _ in {{1..60}}; do {{ {command}}} > ~/clicks; ! grep '"browser":"curl"' ~/clicks || break; sleep 0.5; done
grep -q '"browser":"curl"' ~/clicks
"""


def pages() -> dict[str, str]:
    files = [ROOT / "README.md", *(ROOT / "docs" / "get-started").glob("*.md")]
    return {path.name: path.read_text() for path in files}


def blocks(name: str) -> Iterator[str]:
    """Yield those to run: not those of other pages that the README has, too."""
    run_already = [] if name == "README.md" else list(blocks("README.md"))
    for block in BLOCK.findall(pages()[name]):
        if block not in run_already and not block.startswith(tuple(NOT_RUN.get(name, ()))):
            yield block


def script(name: str) -> str:
    parts = [BEGIN]
    for block in blocks(name):
        if block.endswith("make run\n"):
            parts.append(START.format(command=shlex.quote(block)))
        elif "/api/v1/clicks" in block:
            parts.append(UNTIL_COUNTED.format(command=block))
        else:
            parts.append(f"{block}started\n")
    return "".join(parts)


@pytest.mark.parametrize("name", RUN)
def test_the_commands_of_a_page_run_as_printed(name: str, tmp_path: Path) -> None:
    if not machine.is_allowed():
        pytest.skip("namespaces are not allowed here")
    printed = machine.run(script(name), tmp_path)
    if name == "README.md":
        assert re.search(r"HTTP/1.1 302 Found\n(?:\S.*\n)*location: https://example.com/\n", printed)
        assert '"browser":"curl"' in printed


def test_every_block_of_commands_is_run_or_named() -> None:
    assert {name for name in pages() if any(blocks(name))} == set(RUN)
    for text in pages().values():
        assert set(re.findall(r"^ *```(\w+)$", text, re.MULTILINE)) <= {"sh", "ini", "json", "yaml"}
        assert text.count("```sh") == len(BLOCK.findall(text))


def test_every_block_that_is_named_exists() -> None:
    for name, reasons in NOT_RUN.items():
        found = BLOCK.findall(pages()[name])
        assert [beginning for beginning in reasons if not any(block.startswith(beginning) for block in found)] == []
