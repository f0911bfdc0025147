"""What a release consists of, built, installed and used in new Debians. `make test-packages` runs it, as root.

Debian 12 has Python 3.11, Debian 13 has 3.13, and testing has 3.14. Wheels for others are tried where they are built:
see release.yml.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from deployments.first_click import api_key, count_a_click, first_click_of
from deployments.machine import Machine, booted, what_is_missing
from journeys.service import Website, eventually
from packages.root import UV_VERSION, Root, fresh_root

from waypost.version import VERSION

pytestmark = [
    pytest.mark.skipif(bool(reason := what_is_missing()), reason=reason),
    pytest.mark.timeout(3600),  # a new Debian is hundreds of packages
]
ENVIRONMENT = {"SOURCE_COMMIT": "0123456789abcdef0123456789abcdef01234567", "SOURCE_DATE_EPOCH": "1767225600"}
SUITES = {"bookworm": "311", "trixie": "313", "forky": "314"}
"""With their Python."""
DATA = "/var/lib/waypost"
TRUST = "[Service]\nEnvironment=WAYPOST_OUTBOUND_ALLOW=127.0.0.0/8\n"


@pytest.fixture(scope="module", params=SUITES)
def suite(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def packages(suite: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them, built twice where that is not done elsewhere, and what lintian says of the last."""
    directory = tmp_path_factory.mktemp("packages")
    tools = ("debhelper", "gcc", "libc6-dev", "lintian", "python3-dev", "python3-venv")
    with fresh_root(suite, *tools) as root:
        root.copy_sources()
        root.run("python3", "-m", "venv", "/uv")
        root.run("/uv/bin/pip", "install", "--quiet", f"uv=={UV_VERSION}")
        build = ("/uv/bin/uv", "--directory=/src", "build", "--quiet", "--out-dir=/built")
        root.run(*build, **ENVIRONMENT)
        root.run(*build, "--wheel", **ENVIRONMENT, COMPILE_REDIRECTS="1")
        for name in ("built", "again"):
            root.run("/src/scripts/build-deb", f"/{name}", **ENVIRONMENT)
        [package] = (root.directory / "again").glob("*.deb")
        (directory / "lintian").write_text(root.run("lintian", "--allow-root", f"/again/{package.name}"))
        shutil.copytree(root.directory / "built", directory, dirs_exist_ok=True)
        shutil.copytree(root.directory / "again", directory / "again")
    return directory


@pytest.fixture(scope="module")
def root(suite: str, packages: Path) -> Iterator[Root]:
    with fresh_root(suite, "pipx", "python3-venv", "systemd") as root:
        shutil.copytree(packages, root.directory / "packages")
        yield root


def test_wheels_and_source_distribution_count_a_click(root: Root, suite: str) -> None:
    tag = f"cp{SUITES[suite]}"
    [compiled] = (root.directory / "packages").glob(f"waypost-{VERSION}-{tag}-{tag}-linux_*.whl")
    for file in (f"waypost-{VERSION}-py3-none-any.whl", compiled.name, f"waypost-{VERSION}.tar.gz"):
        root.run("python3", "-m", "venv", "--clear", "/venv")
        root.run("/venv/bin/pip", "install", "--quiet", f"/packages/{file}")
        assert ("compiled redirects" in root.run("/venv/bin/waypost", "--version")) == (file == compiled.name)
        root.count_a_click_of("/venv/bin/waypost")


def test_pipx_and_uv_install_it_as_a_command(root: Root) -> None:
    wheel = f"/packages/waypost-{VERSION}-py3-none-any.whl"
    root.run("pipx", "install", wheel)
    root.count_a_click_of("/root/.local/bin/waypost")
    root.run("pipx", "uninstall", "waypost")
    root.run("python3", "-m", "venv", "/uv")
    root.run("/uv/bin/pip", "install", "--quiet", f"uv=={UV_VERSION}")
    root.run("/uv/bin/uv", "tool", "install", wheel, UV_PYTHON_DOWNLOADS="never")
    root.count_a_click_of("/root/.local/bin/waypost")


def test_the_debian_package_is_the_same_when_built_again_and_lintian_finds_nothing(packages: Path) -> None:
    [again] = (packages / "again").iterdir()
    assert again.read_bytes() == (packages / again.name).read_bytes()
    assert (packages / "lintian").read_text() == ""


def test_the_debian_package_from_its_first_start_to_its_removal(root: Root, packages: Path) -> None:
    [package] = packages.glob("*.deb")
    older = older_version(package, root.directory / "packages")
    root.run("apt-get", "update", "--quiet")
    root.run(
        "apt-get", "install", "--yes", "--no-install-recommends", f"/packages/{package.name}"
    )  # what it depends on
    root.run("dpkg", "--purge", "waypost")
    assert not (root.directory / "usr/lib/waypost").exists()
    with booted(root.directory) as machine:
        machine.write("/etc/systemd/system/waypost.service.d/test.conf", TRUST)
        with first_click_of("Debian package, with its installation"):
            machine.run("dpkg", "--install", f"/packages/{older.name}")
            key = count_first_click(machine)
        assert "file modes: private to this user" in machine.run("waypost", "doctor").stdout
        assert machine.run("stat", "--format=%U %a", DATA).stdout == "waypost 700\n"
        assert machine.run("runuser", "--user=nobody", "--", "waypost", "doctor", check=False).returncode == 1
        assert "compiled redirects" in machine.run("runuser", "--user=nobody", "--", "waypost", "--version").stdout
        machine.run(
            "test",
            "-s",
            "/usr/share/bash-completion/completions/waypost",
            "-a",
            "-s",
            "/usr/share/man/man1/waypost.1.gz",
        )

        settings = "WAYPOST_SLUG_LENGTH=9\n"
        machine.write("/etc/waypost/waypost.env", settings)
        machine.run("dpkg", "--install", f"/packages/{package.name}")
        eventually(lambda: len(re.findall("event=serving", machine.log())) == 2)
        with machine.inside(), Website() as page:
            count_a_click("http://localhost:8000", key, page.url)
        assert machine.run("cat", "/etc/waypost/waypost.env").stdout == settings

        machine.run("dpkg", "--remove", "waypost")
        assert machine.property("ActiveState") == "inactive"
        machine.run("test", "-e", f"{DATA}/waypost.db", "-a", "-e", "/etc/waypost/waypost.env")
        purged = machine.run("dpkg", "--purge", "waypost").stdout
        assert f"Data stays in {DATA}. Delete it with: rm -r {DATA}\n" in purged
        left = machine.run("sh", "-c", f"ls -d {DATA} /etc/waypost /usr/lib/waypost 2>/dev/null", check=False).stdout
        assert left == f"{DATA}\n"
        machine.run("test", "-e", f"{DATA}/waypost.db")


def count_first_click(machine: Machine) -> str:
    """Returns the key."""
    eventually(lambda: "first-start.txt" in machine.log())
    key = api_key(machine.run("cat", f"{DATA}/first-start.txt").stdout)
    with machine.inside(), Website() as page:
        count_a_click("http://localhost:8000", key, page.url)
    return key


def older_version(package: Path, directory: Path) -> Path:
    """The same package with a version from before the first."""
    unpacked, older = package.with_name("older"), directory / "older.deb"
    environment = os.environ | ENVIRONMENT
    subprocess.run(["dpkg-deb", "--raw-extract", package, unpacked], check=True)
    control = unpacked / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*", "Version: 0.0.1-1", control.read_text()))
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", unpacked, older], check=True, env=environment)
    return older
