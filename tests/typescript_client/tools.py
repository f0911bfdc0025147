"""Programs of scripts/npm, which are in NODE_MODULES."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from clients.typescript.generator.modules import NODE_MODULES

Runtime = Literal["node", "deno", "bun"]
_PROGRAMS: Mapping[Runtime, str] = {
    "node": "node-linux-*/bin/node",
    "deno": "@deno/linux-*-glibc/deno",
    "bun": "@oven/bun-linux-*/bin/bun",
}
_TEST: Mapping[Runtime, list[str]] = {
    "node": ["--test"],
    "deno": ["test", "--allow-all", "--no-check", "--node-modules-dir=manual"],
    "bun": ["test"],
}
_RUN: Mapping[Runtime, list[str]] = {
    "node": [],
    "deno": ["run", "--allow-all", "--node-modules-dir=manual"],
    "bun": ["run"],
}


def run_tests(runtime: Runtime, program: str, cwd: Path, **environment: str) -> None:
    _execute(runtime, *_TEST[runtime], program, cwd=cwd, environment=environment)


def run(program: str, cwd: Path, runtime: Runtime = "node", **environment: str) -> str:
    """Return what it prints. Node.js is the oldest version that the client supports."""
    return _execute(runtime, *_RUN[runtime], program, cwd=cwd, environment=environment)


def _execute(runtime: Runtime, *arguments: str, cwd: Path, environment: Mapping[str, str]) -> str:
    [program] = NODE_MODULES.glob(_PROGRAMS[runtime])
    own = {**os.environ, "NO_COLOR": "1", **environment}
    done = subprocess.run([program, *arguments], cwd=cwd, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compile_types(*files: str | Path, cwd: Path, compiler: str = "typescript-7") -> list[str]:
    """Return the errors of the strictest compilation."""
    options = ["--noEmit", "--strict", "--target", "ES2022", "--module", "NodeNext", "--types", "node"]
    options += ["--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--pretty", "false"]
    command = ["node", NODE_MODULES / compiler / "bin" / "tsc", *options, *files]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (not done.stdout), done.stderr
    return done.stdout.splitlines()


def bundle(program: Path, *options: str) -> str:
    command = [NODE_MODULES / ".bin" / "esbuild", program, "--bundle", "--format=esm", "--target=es2022", *options]
    return subprocess.run(command, cwd=program.parent, capture_output=True, text=True, check=True).stdout
