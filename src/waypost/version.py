"""The version, and the commit that the running code comes from."""

import subprocess
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

VERSION = "1.0.0"

_PACKAGE = Path(__file__).parent


@cache
def built_commit() -> str:
    """Return the commit that the build wrote into the package (hatch_build.py). Empty in a checkout."""
    try:
        return (_PACKAGE / "commit.txt").read_text().strip()
    except FileNotFoundError:
        return ""


def log_fields() -> dict[str, str]:
    """Return version and commit for the log. A checkout has no commit there: to ask git takes time at each start."""
    return {"version": VERSION} | ({"commit": built_commit()} if built_commit() else {})


def redirect_form() -> str:
    """Return "compiled" if redirects run as machine code (ADR 1), else "python"."""
    files = (_PACKAGE / "redirect" / f"responder{suffix}" for suffix in EXTENSION_SUFFIXES)
    return "compiled" if any(path.exists() for path in files) else "python"


def commit() -> str:
    """Return the commit of the package, or of the checkout that it is run from. Empty if neither is known."""
    root = _PACKAGE.parents[1]
    return built_commit() or (checked_out_commit(root) if (root / ".git").exists() else "")


def checked_out_commit(checkout: Path) -> str:
    """Ask git. Ends with `+dirty` if tracked files were changed. Empty without git, and in a checkout it distrusts."""
    describe = ["describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+dirty"]
    try:
        done = subprocess.run(  # noqa: S603  # no input from others
            ["git", "--no-optional-locks", "-C", checkout, *describe],  # noqa: S607  # git is where PATH has it
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip()
