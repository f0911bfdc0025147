"""Runs the code of integrations/ in the programs that it is written for."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from architecture.code import ROOT

INTEGRATIONS = ROOT / "integrations"
# setTimeout() calls back at once, except for fetch() itself, and says how long it would have waited
NO_WAITS = """
const original = setTimeout;
globalThis.setTimeout = (callback, milliseconds, ...rest) => {
  if (new Error().stack.includes(["deps", "undici"].join("/"))) return original(callback, milliseconds, ...rest);
  console.log(`waited ${milliseconds / 1000} s`);
  return setImmediate(callback);
};
"""


def run_node(*arguments: str | Path, env: Mapping[str, str] | None = None, stdin: str = "") -> Any:
    """`subprocess.run` of Node.js that does not wait."""
    node = shutil.which("node")
    assert node, "Node.js is missing: apt-get install nodejs (make test does it as root)"
    command = [node, "--import", f"data:text/javascript,{NO_WAITS}", *arguments]
    environment = {"PATH": os.environ["PATH"], **(env or {})}
    return subprocess.run(
        command, env=environment, input=stdin, capture_output=True, text=True, check=False, timeout=60
    )


def evaluate(code: str, given: Any, directory: Path) -> Any:
    """What the JavaScript `code` returns, the body of an asynchronous function of `given`."""
    file = directory / "code.cjs"
    file.write_text(
        f"(async (given) => {{ {code}\n}})(JSON.parse(require('node:fs').readFileSync(0)))"
        ".then((result) => console.log(JSON.stringify(result ?? null)));"
    )
    done = run_node(file, stdin=json.dumps(given))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
