"""The first start as an operator sees it: an owner by the settings, and a disk without space."""

import os
from pathlib import Path

import pytest
from forked import run
from journeys.service import Service
from journeys.test_full_disk import fill, small_disk
from journeys.test_two_instances import First

__all__ = ["small_disk"]
ADA, PASSWORD = "ada@example.com", "four plain words suffice"


def sign_in(service: Service, email: str) -> int:
    fields = {"email": email, "password": PASSWORD}
    return service.client.post("/login", data=fields, headers={"Origin": service.base_url}).status_code


@pytest.mark.parametrize("is_file", [False, True])
def test_the_settings_create_the_owner_once_and_no_process_keeps_the_password(tmp_path: Path, is_file: bool) -> None:
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    secret = {"PASSWORD_FILE": str(tmp_path / "password")} if is_file else {"PASSWORD": PASSWORD}
    settings = {f"WAYPOST_OWNER_{name}": value for name, value in {"EMAIL": ADA, **secret}.items()}
    logged = []
    service = First(tmp_path, alone=not is_file, **settings)  # a file is in no environment
    with service:
        service.log.wait_for("Waypost is ready")
        for process in (*service.children("web"), *service.children("worker")):
            assert PASSWORD.encode() not in Path(f"/proc/{process}/environ").read_bytes()
        service.environment["WAYPOST_OWNER_EMAIL"] = "bob@example.com"  # later starts ignore it
        service.stop()
        logged += service.log.lines
        service.start()
        assert [sign_in(service, each) for each in (ADA, "bob@example.com")] == [303, 422]
    said = run(["doctor"], env=service.environment, cwd=tmp_path)
    assert PASSWORD not in "".join([*logged, said.stdout, said.stderr])
    assert [account["email"] for account in service.json("account", "list")] == [ADA]


def test_a_full_disk_says_so_and_the_next_start_is_a_first_one(small_disk: Path) -> None:
    service = First(small_disk)
    filler = fill(small_disk / "filler")
    refused = run(service.serving[1:], env=service.environment, cwd=small_disk)
    assert refused.returncode == 2
    [line] = refused.stderr.splitlines()
    assert "its file system is full. Free some space, then start again" in line
    os.close(filler)
    (small_disk / "filler").unlink()
    with service:
        service.log.wait_for("first-start.txt")
        assert "wp_live_" in (small_disk / "data" / "first-start.txt").read_text()
        assert len(service.json("account", "list")) == 1
