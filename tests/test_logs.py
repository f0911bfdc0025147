"""The log: one line per event and no secrets, for all writers."""

import subprocess
import sys

import pytest

from waypost.logs import without_secrets

SCRIPT = """
import logging, structlog
from waypost import logs
logs.configure()
structlog.get_logger().info("click drained", count=3, token="abc")
logging.getLogger("library").warning("connected to postgresql://waypost:hunter2@db/waypost")
try:
    raise ValueError("bad key wp_live_abcdef")
except ValueError:
    structlog.get_logger().exception("unexpected")
"""


def test_writes_one_line_per_event() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    ours, library, unexpected = done.stderr.splitlines()
    assert 'level=info event="click drained" count=3 token=…' in ours
    assert "level=warning" in library
    assert "postgresql://waypost:…@db/waypost" in library
    assert "Traceback" in unexpected
    assert done.stdout == ""
    assert not any(secret in done.stderr for secret in ("abc", "hunter2"))


@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-", "2> >(:)"], ids=["full", "closed", "gone"])
def test_a_full_disk_does_not_stop_the_service(stderr: str) -> None:
    script = f"{SCRIPT}\n[logging.error('more') for _ in range(2_000)]; print('went on')"
    command = ["bash", "-c", f'"$0" -c "$1" {stderr}', sys.executable, script]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "went on\n"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("event", "key wp_live_0123abc refused", "key wp_live_… refused"),
        ("event", "whsec_a-b_c=", "whsec_…="),
        ("event", "whsec_a+b/c=", "whsec_…="),
        ("event", "Authorization: Bearer abc.", "Authorization: Bearer …."),
        ("exception", "[SQL: x]\n[parameters: ('mine',)]\n(more)", "[SQL: x]\n[parameters: …\n(more)"),
        ("secret_key", "x", "…"),
        ("password", "x", "…"),
        ("Authorization", "Bearer x", "…"),
        ("url", "https://example.com/a@b:c@d", "https://example.com/a@b:c@d"),
        ("count", 7, 7),
    ],
)
def test_hides_secrets(name: str, value: object, shown: object) -> None:
    assert without_secrets(None, "info", {name: value}) == {name: shown}
