"""The workflows that test and release, as zizmor judges them: pinned actions, least permissions, no injection."""

import subprocess
import sys
from pathlib import Path

from architecture.code import ROOT


def test_the_workflows_are_sound() -> None:
    command = [Path(sys.executable).parent / "zizmor", "--offline", "--no-progress", ROOT / ".github"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
