"""The container image, built and run: data, signals, privileges, faults. `make test-image` runs it, as root."""

import os
import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from container.image import Container, Image, needs_buildah
from deployments.first_click import VISITOR, first_click_of
from journeys.service import PATIENCE, Website, eventually
from nodes.network import Network

pytestmark = [needs_buildah, pytest.mark.timeout(600)]

USER = 10001
START = Callable[..., Container]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    image = Image()
    yield image
    image.remove()


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    """This test, its website and the container are on one machine that nobody else sees."""
    with Network() as network:
        network.add("container", "10.0.0.1")
        yield network


@pytest.fixture(autouse=True)
def _inside(network: Network) -> Iterator[None]:
    with network.inside("container"):
        yield


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """A new volume: runtimes give it the owner that the directory has in the image."""
    directory = tmp_path / "volume"
    directory.mkdir(0o700)
    os.chown(directory, USER, USER)
    return directory


@pytest.fixture
def start(image: Image, network: Network, volume: Path) -> Iterator[START]:
    started: list[Container] = []

    def begin(*arguments: str, user: str = "", **settings: str) -> Container:
        settings |= {"WAYPOST_OUTBOUND_ALLOW": "127.0.0.0/8"}
        started.append(Container(image, network, volume, *arguments, user=user, **settings))
        return started[-1]

    yield begin
    for container in started:
        container.remove()


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    headers = {"User-Agent": VISITOR}
    with httpx.Client(base_url="http://localhost:8000", headers=headers, trust_env=False, timeout=PATIENCE) as client:
        yield client


def is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def first_key(volume: Path) -> str:
    """What the first start writes once it is ready."""
    file = volume / "first-start.txt"
    eventually(lambda: file.exists() and "curl -i" in file.read_text())
    return re.findall(r"Bearer (\S+)'", file.read_text())[0]


def clicks(client: httpx.Client) -> int:
    return client.get("/api/v1/links").json()["data"][0]["clicks"]


def refusal(container: Container) -> str:
    """What a container prints that ends by itself, and not with success."""
    assert container.ended() in {1, 2}
    text = "".join(container.log.lines)
    assert "Traceback" not in text
    return text


def test_labels_and_health_check_are_in_the_image(image: Image) -> None:
    config = image.configuration
    assert config["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", config["Labels"]["org.opencontainers.image.version"])
    assert re.fullmatch(r"[0-9a-f]{40}(\+dirty)?", config["Labels"]["org.opencontainers.image.revision"])
    assert (config["User"], set(config["Volumes"]), set(config["ExposedPorts"])) == (
        "10001:10001",
        {"/data"},
        {"8000/tcp"},
    )
    assert config["Healthcheck"]["Test"][0] == "CMD"
    assert config["WorkingDir"] == "/"
    assert (image.root / "data").stat().st_uid == USER


def test_has_all_that_the_service_imports_and_is_small(image: Image, start: START) -> None:
    """What is left out of the packages is listed in scripts/gather-image."""
    size = sum(path.lstat().st_size for path in image.root.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"{size / 1e6:.0f} MB")
    assert size < 160e6
    container = start()
    container.log.wait_for("event=serving")
    for program in (IMPORT_ALL, ENCODE_IMAGES, "from waypost.cli import app; app(['--help'])"):
        done = container.execute("python", "-c", program)
        assert done.returncode == 0, done.stderr
    assert container.stop() == 0


IMPORT_ALL = """
import pkgutil, importlib, sys, waypost, waypost.child
del sys.modules["rich"]  # which it does without
for module in pkgutil.walk_packages(waypost.__path__, "waypost."):
    if "migrations" not in module.name and not module.name.startswith("waypost.commands.remote"):  # an extra
        importlib.import_module(module.name)
"""
ENCODE_IMAGES = """
import io
from PIL import Image, ImageFont
from waypost.resources.links.images.codec import reencode
ImageFont.load_default(12)
for form in ("JPEG", "PNG", "WEBP", "GIF"):
    file = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(file, form)
    reencode(file.getvalue())
"""


def test_counts_a_click_stops_cleanly_and_keeps_data(
    start: START, client: httpx.Client, volume: Path, image: Image
) -> None:
    check = image.configuration["Healthcheck"]["Test"][1:]
    begun = time.monotonic()
    with Website() as page:
        with first_click_of("image"):
            first = start()
            client.headers["Authorization"] = f"Bearer {first_key(volume)}"
            print(f"{time.monotonic() - begun:.1f} s from run to ready")
            link = client.post("/api/v1/links", json={"slug": "one", "destination_url": page.url})
            assert link.status_code == 201, link.text
            assert client.get("/one").status_code == 302
            eventually(lambda: clicks(client) == 1, every=0.5)  # within the rate limit
        assert "redirects=compiled" in first.log.wait_for("event=serving")
        assert first.execute(*check).returncode == 0
        for command in ("waypost backup /data/backup.tar.gz", "tar -xzf /data/backup.tar.gz -C /tmp waypost.db"):
            done = first.execute(*command.split())
            assert done.returncode == 0, done.stderr
        assert first.stop() == 0

        again = start()
        eventually(lambda: is_ready(client))
        assert client.get("/one").headers["Location"] == page.url
        eventually(lambda: clicks(client) == 2, every=0.5)  # within the rate limit
        assert again.stop() == 0
    assert {path.stat().st_uid for path in volume.rglob("*")} == {USER}


def test_reaps_orphans(start: START, client: httpx.Client) -> None:
    container = start()
    eventually(lambda: is_ready(client))
    assert container.execute("sh", "-c", "sleep 0.1 & exit 0").returncode == 0
    eventually(lambda: "sleep" not in container.execute("sh", "-c", "cat /proc/[0-9]*/stat").stdout)
    assert container.stop() == 0


def test_writes_outside_of_the_volume_and_tmp_are_refused(start: START, client: httpx.Client) -> None:
    container = start()
    eventually(lambda: is_ready(client))
    refused = container.execute("sh", "-c", "touch /tmp/it /data/it && touch /opt/waypost/it")
    assert "Read-only file system" in refused.stderr
    assert container.stop() == 0


def test_runs_as_any_user_who_owns_the_volume(start: START, client: httpx.Client, volume: Path) -> None:
    os.chown(volume, 12345, 0)
    container = start(user="12345:0")
    eventually(lambda: is_ready(client))
    assert "private to this user" in container.execute("waypost", "doctor").stdout
    assert container.stop() == 0
    assert {path.stat().st_uid for path in volume.rglob("*")} == {12345}


def test_a_signal_while_it_starts_is_not_lost(start: START) -> None:
    container = start()
    process = Path(f"/proc/{container.first_process}")
    eventually(lambda: "/opt/waypost/bin/python" in (process / "cmdline").read_text().split("\0")[0])
    eventually(lambda: int(re.findall(r"SigBlk:\s+(\w+)", (process / "status").read_text())[0], 16) & 1 << 14)
    assert container.stop() == 0


def test_the_health_check_finds_another_port(start: START, image: Image) -> None:
    container = start("serve", "--host", "0.0.0.0", "--port", "9000")
    eventually(lambda: container.execute(*image.configuration["Healthcheck"]["Test"][1:]).returncode == 0)
    assert container.stop() == 0


def test_a_volume_of_another_owner_is_refused_with_the_command_that_helps(start: START, volume: Path) -> None:
    os.chown(volume, 0, 0)
    [line] = refusal(start()).splitlines()
    assert "/data is not writable for user 10001. As root, run: chown -R 10001:10001 /data" in line
    os.chown(volume, USER, USER)
    (volume / "waypost.db").touch(0o600)  # as root, such as a restored backup
    assert "chown -R 10001:10001 /data" in refusal(start())


def test_a_read_only_volume_is_refused(start: START, volume: Path) -> None:
    subprocess.run(["mount", "--bind", volume, volume], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", volume], check=True)
        assert "the file system of /data is read-only" in refusal(start())
    finally:
        subprocess.run(["umount", volume], check=True)


def test_a_full_volume_is_refused(start: START, volume: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=256k,uid={USER},gid={USER}", "tmpfs", volume], check=True)
    try:
        assert "full" in refusal(start())
    finally:
        subprocess.run(["umount", volume], check=True)


@pytest.fixture
def used(start: START, client: httpx.Client, volume: Path) -> Path:
    """A volume that a container has used."""
    container = start()
    eventually(lambda: is_ready(client))
    assert container.stop() == 0
    return volume


def test_a_missing_or_changed_secret_key_is_refused(start: START, used: Path) -> None:
    assert "is not the key" in refusal(start(WAYPOST_SECRET_KEY="another" * 10))
    (used / "secret.key").unlink()
    assert "/data/secret.key is missing" in refusal(start())


def test_a_database_of_a_newer_version_is_refused(start: START, used: Path) -> None:
    with sqlite3.connect(used / "waypost.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    assert "newer version of Waypost" in refusal(start())


def test_runs_with_buildah(image: Image, network: Network, client: httpx.Client) -> None:
    """With its own start of programs: a new root directory, the image's user, command and volume."""
    with subprocess.Popen(network.on("container", *image.run_with_buildah()), stderr=subprocess.PIPE) as process:
        try:
            eventually(lambda: is_ready(client))
            os.kill(network.process("container", "waypost.worker.parent"), signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
