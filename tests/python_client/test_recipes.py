"""The recipes of the client's README, as they are printed there."""

import os
import re
import subprocess
import sys
from pathlib import Path

from architecture.code import ROOT
from journeys.service import Service, Website

README = (ROOT / "clients" / "python" / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def recipes(base_url: str, website: str) -> str:
    """All of them as one program, for this service and with links to this website."""
    program = "\n".join(BLOCKS).replace("https://go.example.com", base_url)
    return program.replace("https://example.com", website) + "\nassert receive(b'', {}, 'whsec_1') == 400\n"


def test_the_recipes_run_one_after_the_other(service: Service, website: Website, tmp_path: Path) -> None:
    (tmp_path / "recipes.py").write_text(recipes(service.base_url, website.url))
    environment = {**os.environ, "WAYPOST_API_KEY": service.new_key()}
    done = subprocess.run(
        [sys.executable, "recipes.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].endswith("/spring-sale 0")
    assert any(re.fullmatch(r"1 \{'slug': .*\}", line) for line in lines)
    assert (tmp_path / "code.png").read_bytes().startswith(b"\x89PNG")


def test_the_readme_has_ten_recipes_that_are_checked_strictly(tmp_path: Path) -> None:
    assert re.findall(r"^### (\d+)\. ", README, re.MULTILINE) == [str(number) for number in range(1, 11)]
    (tmp_path / "recipes.py").write_text("\n".join(BLOCKS))
    command = [Path(sys.executable).parent / "mypy", "--strict", "--config-file=", "recipes.py"]
    cache = ["--cache-dir", ROOT / ".mypy_cache" / "programs"]
    done = subprocess.run([*command, *cache], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
