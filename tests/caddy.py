"""Debian's Caddy with the file we ship: on free ports of loopback, its own authority, all its data in a directory."""

import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest
from journeys.service import PATIENCE, eventually, free_port

CADDYFILE = Path(__file__).parent.parent / "deploy" / "Caddyfile"
CADDY = shutil.which("caddy")

needs_caddy = pytest.mark.skipif(not CADDY, reason="caddy is missing: apt-get install caddy (make test does it)")

_GLOBAL = """{{
	admin off
	default_bind 127.0.0.1
	http_port {http}
	https_port {https}
	local_certs
	skip_install_trust
	storage file_system {storage}
"""


class Caddy:
    """What differs from the file: its global options, the names of the service's own hosts, and Waypost's port."""

    def __init__(self, directory: Path, *own_hosts: str) -> None:
        self._directory = directory
        self._own_hosts = own_hosts
        self.http_port, self.https_port = free_port(), free_port()
        self.authority = directory / "storage" / "pki" / "authorities" / "local" / "root.crt"
        self.log = directory / "caddy.log"

    @contextmanager
    def before(self, upstream: int) -> Iterator[Self]:
        """While it runs, it is a proxy for Waypost on the port `upstream`."""
        self._start(upstream)
        try:
            eventually(self._has_own_certificates)
            yield self
        finally:
            self._process.terminate()
            self._process.wait(PATIENCE)

    def _start(self, upstream: int) -> None:
        directory = self._directory
        options = _GLOBAL.format(http=self.http_port, https=self.https_port, storage=directory / "storage")
        text = re.sub(r"^\{\n", lambda _: options, CADDYFILE.read_text(), count=1, flags=re.MULTILINE)
        text = text.replace("app.example.com, go.example.com {", f"{', '.join(self._own_hosts)} {{")
        text = text.replace("127.0.0.1:8000", f"127.0.0.1:{upstream}")
        own = directory / "Caddyfile"
        own.write_text(text)
        homes = {name: str(directory) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [CADDY, "run", "--adapter", "caddyfile", "--config", own],
                stdout=log,
                stderr=log,
                cwd=directory,
                env=os.environ | homes,
            )

    def _has_own_certificates(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()
        return all(self.has_certificate(host) for host in self._own_hosts)

    def has_certificate(self, host: str) -> bool:
        return any((self._directory / "storage" / "certificates").glob(f"*/{host}/{host}.crt"))

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority)
