"""What others wrote is byte for byte what MANIFEST says, and nothing lies there that it does not name."""

from hashlib import sha256
from importlib.resources import files

import pytest

VENDOR = files("waypost.web.dashboard") / "static" / "vendor"
ROWS = [line.split() for line in (VENDOR / "MANIFEST").read_text().splitlines() if line and not line.startswith("#")]


def test_manifest_lists_every_vendored_file() -> None:
    named = {name for name, *_ in ROWS}
    assert named == {entry.name for entry in VENDOR.iterdir()} - {"MANIFEST", "NOTICE"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_vendored_files_match_their_hashes(row: list[str]) -> None:
    name, package, _, licence, digest = row
    assert sha256((VENDOR / name).read_bytes()).hexdigest() == digest
    assert package.rpartition("@")[2][0].isdigit()
    assert licence in {"MIT", "0BSD"}
