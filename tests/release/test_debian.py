"""What the Debian package has that others do not. `make test-packages` builds and installs it."""

import re
import subprocess
import sys

from architecture.code import ROOT
from architecture.test_docs import COMMANDS, options


def test_the_manual_page_has_every_command_and_option() -> None:
    command = [sys.executable, ROOT / "scripts" / "make-man-page"]
    page = subprocess.run(command, check=True, capture_output=True, text=True).stdout.replace("\\-", "-")
    for name, command in COMMANDS.items():
        [about] = re.findall(rf'^\.SS "{name}(?: [A-Z].*)?"\n((?:(?!\.S[SH]).*\n)+)', page, re.MULTILINE)
        assert {option for option in options(command) if option not in about} == set(), name
    assert page.count("\n.SS ") == len(COMMANDS)


def test_the_unit_has_what_the_package_replaces() -> None:
    rules = (ROOT / "deploy" / "debian" / "rules").read_text()
    unit = (ROOT / "deploy" / "systemd" / "waypost.service").read_text()
    [script] = re.findall(r"sed -e '(.*?)' \\\n\t\t-e '(.*?)' \\\n\t\tdeploy/systemd/waypost.service", rules)
    for part in "; ".join(script).split("; "):
        text = part[2:].split(part[1])[0]
        assert re.search(text, unit, re.MULTILINE), text
