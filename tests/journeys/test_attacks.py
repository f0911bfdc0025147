"""The short form of `make attack`: others are answered, right and each time, while the service is attacked."""

import subprocess
import sys

import pytest
from architecture.code import ROOT


@pytest.mark.parametrize("attack", ["endless-1xx", "images"])
def test_others_are_answered_during_an_attack(attack: str) -> None:
    command = [sys.executable, "-m", "bench.attacks", "--short", attack]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
