"""`waypost mcp` before it serves. What it serves: test_assistant.py."""

import os
import subprocess
import sys
from pathlib import Path

import forked
import pytest

from waypost.commands import mcp


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (["--url", "go.example.com"], {"WAYPOST_API_KEY": "wp_live_a"}, "--url: The URL must start with http"),
        (["--url", "https://go.example.com"], {}, "--key-file: Name a file with an API key"),
        (["--url", "https://go.example.com"], {"WAYPOST_API_KEY": "wp live"}, "--key-file: Name a file"),
        (
            ["--url", "https://go.example.com", "--key-file", "missing"],
            {},
            "--key-file: missing cannot be read",
        ),
        ([], {"WAYPOST_API_KEY": "wp_live_a", "WAYPOST_BASE_URL": "ftp://a"}, "WAYPOST_BASE_URL"),
    ],
)
def test_names_what_is_wrong(tmp_path: Path, arguments: list[str], variables: dict[str, str], message: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    done = forked.run(["mcp", *arguments], cwd=tmp_path, env=environment | variables)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_ends_with_its_input_and_reads_the_settings(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("wp_live_a\n")
    (tmp_path / "waypost.toml").write_text('base_url = "https://go.example.com"\n')
    done = forked.alone(["mcp", "--key-file", "key"], cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert mcp.serve("https://go.example.com", None) == 1
    assert "pip install 'waypost[mcp]'" in capfd.readouterr().err


def test_loads_no_database() -> None:
    code = "import sys, waypost.mcp.stdio; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True)
    assert {"sqlalchemy", "waypost.database", "waypost.web"}.isdisjoint(loaded.stdout.split())
