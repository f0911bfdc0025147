"""Programs of scripts/npm."""

import os
import subprocess
import sys
from pathlib import Path

NODE_MODULES = Path(sys.executable).parents[1] / "node" / "node_modules"


def node(*arguments: str | Path, cwd: Path, **environment: str) -> str:
    """Run the oldest version of Node.js that the client supports, and return what it prints."""
    [program] = NODE_MODULES.glob("node-linux-*/bin/node")
    done = subprocess.run(
        [program, *arguments], cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False
    )
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
