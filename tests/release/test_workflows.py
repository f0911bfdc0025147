"""The workflows that test and release: sound, as zizmor judges them, and in step with what they build."""

import re
import subprocess
import sys
from pathlib import Path

from architecture.code import ROOT


def test_actions_are_pinned_and_permissions_are_least() -> None:
    command = [Path(sys.executable).parent / "zizmor", "--offline", "--no-progress", ROOT / ".github"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_of_a_release_gets_the_arguments_of_its_containerfile() -> None:
    """A misspelled one would be ignored, with a warning that nobody reads."""
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    given = re.findall(r"^ +([A-Z_]+)=", workflow.partition("build-args: |\n")[2].partition("tags:")[0], re.MULTILINE)
    taken = re.findall(r"^ARG (\w+)=$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    assert set(given) == set(taken)
