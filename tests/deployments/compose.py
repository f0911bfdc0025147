"""compose.yaml as podman-compose reads it, which needs no Podman for that, and its services without a runtime."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from deployments.containers import USER, Container, Image
from deployments.machine import ROOT
from nodes.network import Network

PROFILES = ("sqlite", "postgres", "scale")
SERVE = ["serve", "--host", "0.0.0.0", "--port", "8000"]
"""The command of the image."""
_ELSEWHERE = "10.87.0.132"
_ALLOWED = {"WAYPOST_OUTBOUND_ALLOW": "10.87.0.0/24"}


def project(directory: Path, profile: str) -> Path:
    """A copy of what `compose.yaml` uses, set up for the profile as the documentation says."""
    shutil.copy(ROOT / "compose.yaml", directory)
    shutil.copytree(ROOT / "deploy", directory / "deploy")
    if profile != "sqlite":
        shutil.copy(ROOT / "deploy" / "compose" / f"{profile}.env", directory / ".env")
    return directory


def services(directory: Path) -> dict[str, Any]:
    """Those of the profile in `.env`, by name, with all variables replaced and `environment` complete."""
    stub = directory / "bin" / "podman"
    stub.parent.mkdir(exist_ok=True)
    stub.write_text("#!/bin/sh\necho podman version 5.0.0\n")
    stub.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "podman_compose", "config"],
        check=False,
        cwd=directory,
        env={"PATH": f"{stub.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = yaml.safe_load(done.stdout)["services"]
    dotenv = directory / ".env"
    lines = dotenv.read_text().splitlines() if dotenv.exists() else []
    variables = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    for service in found.values():
        if "env_file" in service:
            service["environment"] = variables | service["environment"]
    return found


class Compose:
    """A project with the settings of a profile, whose containers run without a container runtime."""

    def __init__(self, directory: Path, network: Network, profile: str) -> None:
        (directory / "project").mkdir()
        self._project = project(directory / "project", profile)
        self._services = services(self._project)
        self._network = network
        self.image = Image(directory)

    def container(self, name: str, command: list[str] | None = None) -> Container:
        service: dict[str, Any] = self._services[name]
        address = service.get("networks", {}).get("default", {}).get("ipv4_address", _ELSEWHERE)
        self._network.add(name, address)
        is_root = service.get("user") == "0"
        entry_point = service.get("entrypoint", ["waypost"])
        return Container(
            self.image,
            self._network,
            name,
            [*entry_point, *(command or service["command"])],
            environment=service.get("environment", {}) | (_ALLOWED if name.startswith("waypost") else {}),
            mounts=[self._mount(text, owner=0 if is_root else USER) for text in service["volumes"]],
            user=0 if is_root else USER,
            capabilities="".join(f",+{each.lower()}" for each in service.get("cap_add", [])),
        )

    def _mount(self, text: str, owner: int) -> str:
        source, target, options = [*text.split(":"), "rw"][:3]
        path = self._project / source if source.startswith(".") else self.image.volume(source, owner)
        return f"{path}:{target}:{options}"
