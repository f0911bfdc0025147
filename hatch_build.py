"""Writes the commit into wheels and source distributions, as `waypost/commit.txt`. A checkout asks git instead."""

import os
import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = Path(self.root, "src", "waypost")
        if version == "editable" or (package / "commit.txt").exists():  # a source distribution has the file
            return
        # without .git, as in an image's build, whoever builds knows the commit
        commit = os.environ.get("SOURCE_COMMIT", "")[:12] or ask_git(package)
        self.written = TemporaryDirectory()
        file = Path(self.written.name, "commit.txt")
        file.write_text(f"{commit}\n")
        parent = "src/waypost" if self.target_name == "sdist" else "waypost"
        build_data["force_include"][str(file)] = f"{parent}/commit.txt"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if hasattr(self, "written"):
            self.written.cleanup()


def ask_git(package: Path) -> str:
    checkout = package.parents[1]
    if not (checkout / ".git").exists():
        return ""
    return runpy.run_path(str(package / "version.py"))["checked_out_commit"](checkout)
