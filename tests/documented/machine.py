"""A machine of its own for commands of the documentation: a network namespace with a scripted internet in it.

So commands run as printed: port 8000 is free, https://example.com/ answers, and a clone comes from this repository.
What they would install is there already. What cannot run is a stand-in in `programs`, or in NOT_RUN of the test.

`python -m documented.machine DIRECTORY SCRIPT` is the program in the namespace.
"""

import asyncio
import ctypes
import os
import signal
import ssl
import subprocess
import sys
from pathlib import Path

import trustme
from architecture.code import ROOT
from outbound.servers import Receiver, name_server, response

_NAMESPACES = ("--net",) if os.getuid() == 0 else ("--map-root-user", "--net")
_SUBREAPER = 36
_FILES = b"/waypost/waypost/main/"
_BIN = Path(sys.executable).parent


def is_allowed() -> bool:
    return subprocess.run(["unshare", *_NAMESPACES, "true"], check=False, capture_output=True).returncode == 0


def run(script: str, home: Path) -> str:
    """Run a script of bash as a new user would, and return its output. Raises AssertionError if a command fails."""
    command = ["unshare", *_NAMESPACES, sys.executable, "-m", "documented.machine", str(home), script]
    path = os.pathsep.join(str(ROOT / each) for each in ("tests", "."))
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


async def _run(home: Path, script: str) -> int:
    authority, tls = trustme.CA(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.cert_pem.write_to_path(home / "ca.pem")
    authority.issue_cert("example.com", "raw.githubusercontent.com").configure_cert(tls)
    async with name_server() as names, Receiver(_answer, "127.0.0.1", 443, tls):
        names.has("example.com", ["127.0.0.1"])
        environment = _prepare(home) | {"WAYPOST_DNS_SERVERS": names.address}
        process = await asyncio.create_subprocess_exec(
            "bash", "-euxo", "pipefail", "-c", script, cwd=home, env=environment
        )
        return await process.wait()


async def _answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
    path = head.split()[1]
    body = b"<!doctype html><title>A page</title>"
    if path.startswith(_FILES):
        body = (ROOT / path.removeprefix(_FILES).decode()).read_bytes()
    writer.write(response(200, body, content_type="text/html", connection="close"))
    await writer.drain()


def _prepare(home: Path) -> dict[str, str]:
    """Write the configuration of curl and git, and return the environment."""
    templates = home / ".templates" / "hooks"
    templates.mkdir(parents=True)
    hook = templates / "post-checkout"
    hook.write_text(f"#!/bin/sh\nmkdir .venv && ln -s {_BIN} .venv/bin && touch .venv/.installed-run\n")
    hook.chmod(0o755)
    (home / ".gitconfig").write_text(
        f'[url "file://{ROOT}"]\n\tinsteadOf = https://github.com/waypost/waypost\n'
        f"[init]\n\ttemplateDir = {templates.parent}\n[safe]\n\tdirectory = *\n"
    )
    (home / ".curlrc").write_text(f'connect-to = "::127.0.0.1:"\ncacert = "{home / "ca.pem"}"\nshow-error\n')
    programs = home / ".programs"
    programs.mkdir()
    docker = programs / "docker"
    docker.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name("docker.py")} "$@"\n')
    docker.chmod(0o755)
    return {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(home),
        "SHELL": "/bin/bash",
        "WAYPOST_OUTBOUND_ALLOW": "127.0.0.0/8",
        "WAYPOST_OUTBOUND_CA_FILE": str(home / "ca.pem"),
    }


def _end_all() -> None:
    """End what the script has left, such as services: orphans are children of this process."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while found := children.read_text().split():
        for each in map(int, found):
            os.kill(each, signal.SIGKILL)
            os.waitpid(each, 0)


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    try:
        code = asyncio.run(_run(Path(sys.argv[1]), sys.argv[2]))
    finally:
        _end_all()
    sys.exit(code)
