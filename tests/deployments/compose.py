"""Reads compose.yaml as podman-compose does, which needs no Podman for that."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PROFILES = ("sqlite", "postgres", "scale")


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
