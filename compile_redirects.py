"""Compiles the code of each redirect with mypyc (ADR 1): `python compile_redirects.py DIRECTORY`.

Copies the package into the directory and compiles the copy, so that a checkout never has machine code beside source
that changes. Needs mypy, setuptools, a C compiler and the headers of this Python. `hatch_build.py` does it for wheels.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

MODULES = (
    "address_filter",
    "aliases",
    "changes",
    "decision",
    "host_table",
    "near",
    "pixel_pages",
    "request",
    "responder",
    "route",
    "segment",
    "spool",
    "state",
    "table",
)
REQUIREMENTS = ("mypy==2.4.1", "setuptools==84.2.1")
# The same machine code with and without the libraries that the package imports; `make lint` checks the types.
_MYPY = ("--config-file=", "--no-site-packages", "--ignore-missing-imports", "--no-incremental")


def compile_redirects(package: Path, directory: Path) -> list[Path]:
    """Write a copy of the package and its machine code into the directory. Return the files of the latter."""
    shutil.copytree(package, directory / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    modules = [f"{package.name}/redirect/{name}.py" for name in MODULES]
    environment = os.environ | {"MYPYC_OPT_LEVEL": "3", "MYPYC_DEBUG_LEVEL": "0"}
    # builders make an environment of a random name, which would get into messages of the machine code
    environment["CFLAGS"] = f"{os.environ.get('CFLAGS', '')} -ffile-prefix-map={sys.prefix}=python"
    done = subprocess.run(  # noqa: S603  # no input from others
        [sys.executable, "-m", "mypyc", *_MYPY, *modules],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"Redirects could not be compiled:\n{done.stdout}{done.stderr}")
    shutil.rmtree(directory / "build")
    return sorted(path.relative_to(directory) for path in directory.rglob("*.so"))


if __name__ == "__main__":
    root, target = Path(__file__).parent, Path(sys.argv[1])
    shutil.rmtree(target, ignore_errors=True)
    compile_redirects(root / "src" / "waypost", target)
