"""R22: a full disk stops no redirect, the API says 503, the log says why, and all goes on when there is room again."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from journeys.service import Service, Website, eventually


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Six megabytes of its own, which only root can have mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def fill(path: Path) -> int:
    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(file, bytes(4096))
    except OSError:
        return file


def test_a_full_disk(small_disk: Path) -> None:
    with Website() as page, Service(small_disk) as service:
        client = service.client
        link = {"slug": "one", "destination_url": page.url}
        assert client.post("/api/v1/links", json=link).status_code == 201
        assert client.get("/one").status_code == 302
        filler = fill(small_disk / "filler")

        assert {client.get("/one").status_code for _ in range(300)} == {302}
        refused = client.post("/api/v1/links", json=link | {"slug": "two"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "http_error")
        service.log.wait_for("visit could not be recorded")
        service.log.wait_for("visits dropped")

        os.close(filler)
        (small_disk / "filler").unlink()
        eventually(lambda: client.post("/api/v1/links", json=link | {"slug": "two"}).status_code == 201)
        assert client.get("/two").status_code == 302
        assert "Traceback" not in "".join(service.log.lines)
