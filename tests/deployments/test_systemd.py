"""deploy/systemd as it is shipped: checked by systemd, and run by it under all its restrictions."""

import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from deployments.first_click import api_key, count_a_click, first_click_of
from deployments.machine import UNIT, Machine, booted_machine, what_is_missing
from journeys.service import Website, eventually

needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is missing")
needs_machine = pytest.mark.skipif(bool(reason := what_is_missing()), reason=reason)
ENVIRONMENT = "/etc/waypost/waypost.env"
CREDENTIAL = """
[Service]
LoadCredential=secret_key:/etc/waypost/secret_key
Environment=WAYPOST_SECRET_KEY_FILE=%d/secret_key
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with booted_machine() as booted:
        yield booted


@needs_systemd
def test_the_unit_is_hardened() -> None:
    command = ["systemd-analyze", "security", "--offline=yes", "--threshold=18", "--no-pager", str(UNIT)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@needs_machine
def test_the_unit_is_valid(machine: Machine) -> None:
    done = machine.run("systemd-analyze", "verify", "--man=no", "/etc/systemd/system/waypost.service")
    assert (done.stdout, done.stderr) == ("", "")


@needs_machine
def test_counts_a_click_with_all_restrictions(machine: Machine) -> None:
    machine.write(ENVIRONMENT, "WAYPOST_OUTBOUND_ALLOW=127.0.0.0/8\n")
    machine.write("/etc/waypost/secret_key", "k" * 40, mode="600")
    machine.write("/etc/systemd/system/waypost.service.d/secrets.conf", CREDENTIAL)
    machine.run("systemctl", "daemon-reload")
    with machine.inside(), Website() as page, first_click_of("deploy/systemd"):
        machine.run("systemctl", "start", "waypost")
        eventually(lambda: "first-start.txt" in machine.log())
        key = api_key(machine.run("cat", "/var/lib/waypost/first-start.txt").stdout)
        count_a_click("http://localhost:8000", key, page.url)

    assert "file modes: private to this user" in machine.run("waypost", "doctor").stdout
    assert "secret.key" not in machine.run("ls", "/var/lib/waypost").stdout
    machine.run("waypost", "backup", "/var/lib/waypost/backup.tar.gz")
    assert machine.run("stat", "--format=%U %a", "/var/lib/waypost/backup.tar.gz").stdout == "waypost 600\n"

    machine.run("systemctl", "stop", "waypost")
    assert machine.property("Result") == "success"
    assert 'event="processes stopped" process=parent code=0' in machine.log()
    assert machine.run("waypost", "doctor", check=False).stderr.endswith("Start it: systemctl start waypost\n")


@needs_machine
def test_listens_on_ports_80_and_443_for_tls(machine: Machine) -> None:
    machine.write(ENVIRONMENT, "WAYPOST_BASE_URL=https://go.example.com\nWAYPOST_TLS=true\n")
    machine.run("systemctl", "restart", "waypost")
    assert re.search(r"host=(::|0\.0\.0\.0) port=80 ", machine.log())
    machine.run("systemctl", "stop", "waypost")


@needs_machine
def test_a_start_with_an_invalid_setting_fails_once(machine: Machine) -> None:
    machine.write(ENVIRONMENT, "WAYPOST_BASE_URI=https://go.example.com\n")
    assert machine.run("systemctl", "restart", "waypost", check=False).returncode == 1
    assert (machine.property("ActiveState"), machine.property("NRestarts")) == ("failed", "0")
    assert "Did you mean WAYPOST_BASE_URL?" in machine.log()
