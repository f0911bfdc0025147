"""deploy/systemd as it is shipped: checked by systemd, and run by it under all its restrictions."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

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
def test_a_command_has_the_environment_of_the_service_and_shows_it_to_nobody(tmp_path: Path) -> None:
    """Nor does a program that root runs have it: the service could make it load code."""
    variables = {"PATH": "/usr/bin:/bin", "WAYPOST_SMTP_URL": "smtp://a:secret\nof two lines@mail"}
    readonly = {"UID": "5"}
    service = subprocess.Popen(["sleep", "infinity"], env=variables | readonly, user="nobody", group="nogroup", cwd="/")
    command = tmp_path / "waypost"
    command.write_text(UNIT.with_name("waypost").read_text().replace("/opt/waypost/bin/waypost", "/usr/bin/env"))
    programs = {
        "systemctl": f"echo {service.pid}",
        "nsenter": f'(env; printf "%s\\n" "$@") > {tmp_path}/shown; exec {shutil.which("nsenter")} "$@"',
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    try:
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "OF_ROOT": "1"}
        done = subprocess.run(["bash", command, "--null"], env=environment, capture_output=True, text=True, check=True)
    finally:
        service.kill()
        service.wait()
    assert done.stderr == ""
    got = dict(line.split("=", 1) for line in done.stdout.split("\0") if line)
    of_bash = {"_", "OLDPWD", "PWD", "SHLVL", "UID"}
    assert {name: value for name, value in got.items() if name not in of_bash} == variables
    shown = (tmp_path / "shown").read_text()
    assert f"--target\n{service.pid}\n" in shown
    assert "secret" not in shown


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

    assert "status=0" in machine.property("ExecStartPre")
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


@needs_machine
def test_starts_and_migrates_again_while_postgresql_is_away(machine: Machine) -> None:
    machine.write(ENVIRONMENT, "WAYPOST_DATABASE_URL=postgresql://waypost@127.0.0.1:1/waypost\n")
    assert machine.run("systemctl", "restart", "waypost", check=False).returncode == 1
    eventually(lambda: int(machine.property("NRestarts")) > 0 and "status=1" in machine.property("ExecStartPre"))
    limits = {name: machine.property(name) for name in ("RestartUSec", "StartLimitIntervalUSec", "TimeoutStartUSec")}
    assert limits == {"RestartUSec": "2s", "StartLimitIntervalUSec": "0", "TimeoutStartUSec": "infinity"}
    machine.run("systemctl", "stop", "waypost")
