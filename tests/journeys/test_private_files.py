"""R33, R36: what a service writes is for its own user, and its log holds no secret; started with umask 0."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from forked import alone
from journeys.service import Service, Website, eventually
from PIL import Image

SECRETS = ("wp_live_", "/enter/", "/reset/")


def test_files_are_private_and_the_log_names_the_one_with_the_key(tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    data.mkdir()
    data.chmod(0o755)
    with umask(0), started(Service(tmp_path, alone=True)) as service:
        service.log.wait_for("first-start.txt")
        first = (data / "first-start.txt").read_text()
        assert "/enter/" in first
        [service.key] = set(re.findall(r"wp_live_\w+", first))
        use(service)
        other.mkdir(mode=0o700)
        backup, code = str(other / "backup.tar"), str(other / "code.png")
        for command in (["backup", backup], ["qr", "https://example.com", "--output", code]):
            assert alone(command, cwd=tmp_path, env=service.environment).returncode == 0
        kept = re.search(r"file=(\S+)", service.log.wait_for("email not sent"))
        assert kept
        assert "/reset/" in Path(kept[1]).read_text()
        modes = {path: path.lstat().st_mode & 0o777 for path in (data, *data.rglob("*"), *other.iterdir())}
    assert {path: mode for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == {}
    written = {path.relative_to(tmp_path).parts[1] for path in modes if path != data}
    assert written >= {"waypost.db", "waypost.db-wal", "secret.key", "spool", "run", "media", "mail"}
    assert [line for line in service.log.lines if any(secret in line for secret in SECRETS)] == []


def use(service: Service) -> None:
    """An image, a visit, a forgotten password."""
    service.client.headers["Authorization"] = f"Bearer {service.key}"
    image = BytesIO()
    Image.new("RGB", (40, 40)).save(image, "PNG")
    with Website() as page:
        fields = {"slug": "hello", "destination_url": page.url}
        made = service.client.post("/api/v1/links", data=fields, files={"og_image_file": ("a.png", image.getvalue())})
    assert made.status_code == 201, made.text
    assert service.client.get("/hello").status_code == 302
    clicks = f"/api/v1/links/{made.json()['data']['id']}/clicks"
    eventually(lambda: bool(service.client.get(clicks).json()["data"]), every=0.2)
    asked = service.client.post(
        "/forgot", data={"email": "owner@waypost.localhost"}, headers={"Origin": service.base_url}
    )
    assert asked.is_success, asked.text


@contextmanager
def started(service: Service) -> Iterator[Service]:
    service.start()
    try:
        yield service
    finally:
        service.stop()
        service.client.close()


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
