"""Writes the commit into wheels, as `waypost/commit.txt`. Source distributions have it as `commit.txt`.
Wheels also have `docs/`, which the service shows.

With COMPILE_REDIRECTS=1, wheels also have the redirects as machine code, and are for one Python and platform (ADR 1).
"""

import os
import re
import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildHook(BuildHookInterface):
    def dependencies(self) -> list[str]:
        return list(self._compiler()["REQUIREMENTS"]) if self._is_compiled() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # the checkout may change: version.py asks git, and machine code would be outdated
            return
        root = Path(self.root)
        path = root / "commit.txt"
        if not path.exists():  # this is not a source distribution
            self.directory_of_commit = TemporaryDirectory()  # until the build has ended
            path = Path(self.directory_of_commit.name, "commit.txt")
            # without .git, as in an image's build, the builder passes it in the environment
            commit = re.sub("(?<=^[0-9a-f]{12})[0-9a-f]+", "", os.environ.get("SOURCE_COMMIT", ""))
            path.write_text(f"{commit or ask_git(root)}\n")
        build_data["force_include"][str(path)] = "commit.txt" if self.target_name == "sdist" else "waypost/commit.txt"
        if self.target_name == "wheel":
            build_data["force_include"][str(root / "docs")] = "waypost/docs"  # ADR 33
        if self._is_compiled():
            self.directory_of_code = TemporaryDirectory()
            directory = Path(self.directory_of_code.name)
            for file in self._compiler()["compile_redirects"](root / "src" / "waypost", directory):
                build_data["force_include"][str(directory / file)] = str(file)
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def _is_compiled(self) -> bool:
        return self.target_name == "wheel" and os.environ.get("COMPILE_REDIRECTS") == "1"

    def _compiler(self) -> dict[str, Any]:
        return runpy.run_path(str(Path(self.root) / "compile_redirects.py"))


def ask_git(root: Path) -> str:
    if not (root / ".git").exists():
        return ""
    return runpy.run_path(str(root / "src/waypost/version.py"))["checked_out_commit"](root)
