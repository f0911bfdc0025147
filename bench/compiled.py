"""The two forms of the package: compiled, as in image and wheels (ADR 1), and the source, which runs in Python.

Benchmarks run with the compiled one. `SOURCE` is passed to what is measured in Python as well.
"""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from bench.seed import say

_ROOT = Path(__file__).parent.parent
SOURCE = _ROOT / "src"
_COMPILER = _ROOT / "compile_redirects.py"
_COMPILED = _ROOT / ".bench" / "compiled"


def run_compiled() -> None:
    """Start this process again with the compiled package, unless it has it. Processes that it starts inherit it."""
    if os.environ.get("PYTHONPATH") != str(_COMPILED):
        _compile()
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {"PYTHONPATH": str(_COMPILED)})


def _compile() -> None:
    """Once for each state of the source."""
    mark, digest = _COMPILED / "source.sha256", _digest()
    if mark.exists() and mark.read_text() == digest:
        return
    say("compiling the package …")
    _COMPILED.parent.mkdir(exist_ok=True)
    subprocess.run([sys.executable, _COMPILER, _COMPILED], check=True)
    subprocess.run([sys.executable, "-m", "compileall", "-q", _COMPILED], check=True)  # as pip does
    mark.write_text(digest)


def _digest() -> str:
    files = [path for path in sorted(SOURCE.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    return sha256(b"".join(b"%b\0%b" % (bytes(path), path.read_bytes()) for path in [_COMPILER, *files])).hexdigest()
