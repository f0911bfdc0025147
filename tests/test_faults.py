"""What `waypost serve` says instead of starting. Each message is explained on the page of error messages."""

import os
import re
import shutil
import socket
import sqlite3
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import forked
import pytest
from alembic import command
from architecture.test_messages import PAGE, quoted
from journeys.service import free_port
from sqlalchemy import create_engine
from test_cli import Waypost

from waypost.database.migrations import _config
from waypost.database.schema import revisions

AS_ORDINARY_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
"""Root without its power over the files of others."""
KEY = "k" * 32


@pytest.fixture
def waypost(tmp_path: Path, sqlite_template: Path) -> Waypost:
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copy(sqlite_template, tmp_path / "data" / "waypost.db")
    return Waypost(tmp_path)


def refused(waypost: Waypost, *options: str, code: int, by=forked.run, **settings: str) -> str:
    """Return the message."""
    settings = {"WAYPOST_DATA_DIR": "data"} | settings
    done = waypost("serve", *options, code=code, by=by, **settings)
    assert done.stdout == ""
    return explained(done.stderr)


def explained(text: str) -> str:
    """Return the message, if the page of error messages quotes it."""
    assert "Traceback" not in text
    assert any(re.search(".*".join(map(re.escape, each.split("…"))), text) for each in quoted(PAGE)), text
    return text


def through(*command: str):
    """Run the installed program by another."""

    def run(arguments: list[str], *, cwd: Path, env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, str(forked.WAYPOST), *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False
        )

    return run


@contextmanager
def mounted(directory: Path) -> Iterator[None]:
    """Four megabytes of its own, which only root can mount."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(directory)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def can_drop_privileges() -> bool:
    try:
        return subprocess.run([*AS_ORDINARY_USER, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to create files of another user")
@pytest.mark.parametrize("name", ["", "waypost.db", "secret.key"])
def test_files_of_another_user(waypost: Waypost, name: str) -> None:
    if not can_drop_privileges():
        pytest.skip("setpriv cannot drop capabilities here")
    (waypost.directory / "data" / "secret.key").write_text(KEY)
    (waypost.directory / "data" / "secret.key").chmod(0o600)
    os.chown(waypost.directory / "data" / name, 12345, 12345)
    text = refused(waypost, code=2, by=through(*AS_ORDINARY_USER))
    assert text == (
        f"WAYPOST_DATA_DIR: data cannot be used: {Path(waypost.directory if not name else '', 'data', name)} is not"
        f" {'readable' if name == 'secret.key' else 'writable'} for user 0."
        f" As root, run: chown -R 0:0 {waypost.directory}/data\n"
    )


def test_a_full_file_system(waypost: Waypost) -> None:
    data = waypost.directory / "data"
    with mounted(data):
        (data / "filler").write_bytes(bytes(3 << 20))
        assert "its file system is full. Free some space" in refused(waypost, code=2)
        assert [path.name for path in data.iterdir()] == ["filler"]


def test_a_read_only_file_system(waypost: Waypost) -> None:
    data = waypost.directory / "data"
    with mounted(data):
        subprocess.run(["mount", "-o", "remount,ro", str(data)], check=True)
        assert f"the file system of {data} is read-only. Mount it writable" in refused(waypost, code=2)


def test_a_port_in_use(waypost: Waypost) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        options = f"--tls --host 127.0.0.1 --port {free_port()} --tls-port {port}"
        text = refused(waypost, *options.split(), code=1)
    assert text.endswith(
        f"Port {port} on 127.0.0.1 is in use by another program. Stop it, or choose another port with --tls-port."
        f" As root, this shows it: ss -ltnp 'sport = :{port}'\n"
    )


def test_an_address_of_another_machine(waypost: Waypost) -> None:
    assert "Correct --host" in refused(waypost, "--host", "203.0.113.1", "--port", "8000", code=1)


def test_an_unknown_setting(waypost: Waypost) -> None:
    assert "Did you mean WAYPOST_BASE_URL?" in refused(waypost, code=2, WAYPOST_BASE_ULR="https://go.example.com")


def test_a_missing_and_a_changed_secret_key(waypost: Waypost) -> None:
    db = waypost.directory / "data" / "waypost.db"
    with closing(sqlite3.connect(db)) as connection, connection:
        connection.execute("INSERT INTO secret_key_fingerprint VALUES (1, ?)", [b"of another key"])
    assert "Copy the key of the other nodes, or of the backup" in refused(waypost, code=2)
    assert "WAYPOST_SECRET_KEY is not the key" in refused(waypost, code=2, WAYPOST_SECRET_KEY=KEY)


@pytest.mark.skipif(not shutil.which("faketime"), reason="faketime is missing: make test installs it")
@pytest.mark.parametrize("at", ["2001-02-03", "2101-02-03"])
def test_a_clock_that_is_far_off(waypost: Waypost, at: str) -> None:
    text = refused(waypost, code=1, by=through("faketime", at))
    assert text.startswith(f"The clock of this machine says {at}T")
    assert "Set it, for example with `timedatectl set-ntp true`" in text


def set_schema(waypost: Waypost, revision: str, compatible_since: str | None = None) -> None:
    with closing(sqlite3.connect(waypost.directory / "data" / "waypost.db")) as connection, connection:
        connection.execute(
            "UPDATE alembic_version SET version_num = ?, compatible_since = ?", [revision, compatible_since]
        )


@pytest.mark.parametrize("compatible_since", [None, "0055"])
@pytest.mark.parametrize("name", ["serve", "migrate"])
def test_a_database_of_a_newer_version(waypost: Waypost, name: str, compatible_since: str | None) -> None:
    set_schema(waypost, "9999", compatible_since)
    text = explained(waypost(name, code=1).stderr)
    assert "9999 of a newer version of Waypost: run that version. There is no downgrade" in text


def test_a_database_of_an_older_version_with_another_role(waypost: Waypost) -> None:
    set_schema(waypost, "0055")
    assert "Run: waypost migrate" in refused(waypost, "--role", "web", code=1)
    set_schema(waypost, "0054")
    message = refused(waypost, code=1)
    assert "which is too old for this version" in message
    assert explained(waypost("migrate", code=1).stderr) == message


def test_a_backup_before_a_migration(waypost: Waypost) -> None:
    db = waypost.directory / "data" / "waypost.db"
    db.unlink()
    engine = create_engine(f"sqlite:///{db}")
    with engine.begin() as connection:
        command.upgrade(_config(connection=connection), min(revisions()))
    engine.dispose()
    file = waypost.directory / "before.tar.gz"
    done = waypost("migrate", "--backup", "before.tar.gz")
    assert "Backup written to before.tar.gz" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("The schema is now at ")
    with tarfile.open(file) as archive:
        assert "waypost.db" in archive.getnames()
    assert "The schema is current" in waypost("migrate", "--backup", "before.tar.gz").stderr  # needs none


@pytest.mark.parametrize("kept", [0, 4096])
def test_a_damaged_database(waypost: Waypost, kept: int) -> None:
    db = waypost.directory / "data" / "waypost.db"
    content = db.read_bytes()
    db.write_bytes(content[:kept] + os.urandom(len(content) - kept))
    assert "The file is damaged: stop the service, keep a copy of the file" in refused(waypost, code=1)
