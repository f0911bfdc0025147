"""What app stores start, until the owner has a counted click, without a shell: containers, and scripts of packages.

`make test-nodes`.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

pytest.importorskip("podman_compose", reason="podman_compose is missing: make test-nodes installs it")

from deployments.compose import SERVE, services
from deployments.containers import USER, Container, Image, needs_containers, running
from deployments.first_click import count_a_click_in_dashboard, first_click_of
from deployments.machine import ROOT
from deployments.stores import CLIENT, wait_until_ready
from deployments.test_app_stores import render_truenas
from journeys.service import Website, eventually, free_port
from nodes.network import Network

STORES = ROOT / "deploy" / "stores"
EMAIL, PASSWORD = "you@example.com", "0f6c5a4e8d7b" * 5
OWNER = {"WAYPOST_OWNER_EMAIL": EMAIL, "WAYPOST_OWNER_PASSWORD": PASSWORD}
ADDRESS = "10.87.0.21"
TRUST = {"WAYPOST_OUTBOUND_ALLOW": f"{CLIENT}/32"}
"""Links may lead to the website of the tests."""
Environment = dict[str, str]


@dataclass
class Store:
    """How it starts the container: whose directory it mounts, the user, and the variables."""

    origin: str
    directory_of: int
    start: Callable[[Path], tuple[int, Environment]]
    email: str = EMAIL
    """Empty: the set-up page asks for it."""
    headers: dict[str, str] = field(default_factory=dict)
    """Those of its proxy."""


def compose(name: str, variables: Environment) -> Callable[[Path], tuple[int, Environment]]:
    def start(project: Path) -> tuple[int, Environment]:
        [file] = [path for path in (STORES / name).iterdir() if path.stem in {"docker-compose", "waypost"}]
        shutil.copy(file, project / "docker-compose.yml")
        (project / ".env").write_text("".join(f"{key}={value}\n" for key, value in variables.items()))
        found = services(project)
        service = found.get("web") or found["waypost"]
        environment = service["environment"]
        if isinstance(environment, list):
            environment = dict(each.partition("=")[::2] for each in environment)
        return int(service.get("user", str(USER)).partition(":")[0]), environment

    return start


def unraid(_: Path) -> tuple[int, Environment]:
    container = ET.parse(STORES / "unraid" / "waypost.xml").getroot()
    form = OWNER | {"WAYPOST_BASE_URL": "http://192.168.1.20:8764"}
    variables = {
        each.attrib["Target"]: each.text or ""
        for each in container.findall("Config")
        if each.attrib["Type"] == "Variable"
    }
    user = re.search(r"--user (\d+):", container.findtext("ExtraParams") or "")
    assert user
    return int(user[1]), variables | form


def truenas(_: Path) -> tuple[int, Environment]:
    form = {"owner_email": EMAIL, "owner_password": PASSWORD, "base_url": "http://192.168.1.20:31764"}
    service = render_truenas(STORES / "truenas", form)
    return int(service["user"].partition(":")[0]), service["environment"]


def easypanel(_: Path) -> tuple[int, Environment]:
    text = (STORES / "easypanel" / "index.ts").read_text()
    given = {"$(PRIMARY_DOMAIN)": "go.example.com", "${input.ownerEmail}": EMAIL, "${input.ownerPassword}": PASSWORD}
    for placeholder, value in given.items():
        text = text.replace(placeholder, value)
    return USER, dict(re.findall(r"`(WAYPOST_\w+)=(.*)`", text))


CONTAINERS = {
    "casaos": Store("http://casaos.local:8764", 0, compose("casaos", {"AppID": "waypost"}), email=""),
    "umbrel": Store(
        "http://umbrel.local:8764",
        1000,
        compose(
            "umbrel",
            {"DEVICE_DOMAIN_NAME": "umbrel.local", "APP_PROXY_PORT": "8764", "NETWORK_IP": "10.21.0.0"}
            | {"APP_PASSWORD": PASSWORD, "APP_DATA_DIR": "/app"},
        ),
        email="owner@umbrel.local",
    ),
    "runtipi": Store(
        "http://192.168.1.20:8764",
        USER,
        compose("runtipi", OWNER | {"APP_DOMAIN": "192.168.1.20:8764", "APP_DATA_DIR": "/app"}),
    ),
    "coolify": Store(
        "https://go.example.com",
        USER,
        compose(
            "coolify",
            {"SERVICE_URL_WAYPOST": "https://go.example.com", "SERVICE_PASSWORD_WAYPOST": PASSWORD}
            | {"WAYPOST_OWNER_EMAIL": EMAIL},
        ),
        headers={"X-Forwarded-Proto": "https"},
    ),
    "easypanel": Store("https://go.example.com", USER, easypanel, headers={"X-Forwarded-Proto": "https"}),
    "truenas": Store("http://192.168.1.20:31764", 568, truenas),
    "unraid": Store("http://192.168.1.20:8764", 99, unraid),
}


@needs_containers
@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_of_stores(name: str, directory: Path, network: Network) -> None:
    store = CONTAINERS[name]
    (directory / "project").mkdir()
    user, environment = store.start(directory / "project")
    data = directory / "data"
    data.mkdir()
    os.chown(data, store.directory_of, store.directory_of)
    network.add("store", ADDRESS)
    waypost = Container(
        Image(directory),
        network,
        "store",
        ["waypost", *SERVE],
        environment={key: value or "" for key, value in environment.items() if key.startswith("WAYPOST_")} | TRUST,
        mounts=[f"{data}:/data:rw"],
        user=user,
    )
    headers = store.headers | {"Host": store.origin.partition("//")[2], "Origin": store.origin}
    with (
        running(waypost),
        Website(CLIENT) as website,
        httpx.Client(base_url=f"http://{ADDRESS}:8000", headers=headers, trust_env=False) as client,
    ):
        with first_click_of(name):
            wait_until_ready(f"http://{ADDRESS}:8000")
            if store.email:
                sign_in(client, store.email)
            else:
                eventually(lambda: "/setup?code=" in waypost.log)
                found = re.search(rf"{store.origin}/setup\?code=(\S+)", waypost.log)
                assert found, waypost.log
                assert found[1] in client.get("/setup", params={"code": found[1]}).text
                answer = client.post("/setup", data={"code": found[1], "email": EMAIL, "password": PASSWORD})
                assert answer.status_code == 303, answer.text
            count_a_click_in_dashboard(client, website.url)
        assert waypost.stop() == 0


def sign_in(client: httpx.Client, email: str) -> None:
    answer = client.post("/login", data={"email": email, "password": PASSWORD})
    assert (answer.status_code, answer.headers["location"]) == (303, "/"), answer.text


HELPERS = r"""
set -eu
ynh_script_progression() { :; }
ynh_print_info() { :; }
ynh_hide_warnings() { "$@"; }
ynh_app_upstream_version() { echo "$version"; }
ynh_app_setting_set() { :; }
ynh_user_get_info() { [ "$*" = "--username=ada --key=mail" ] && echo you@example.com; }
ynh_safe_rm() { rm -rf "$1"; }
ynh_exec_as_app() {
    case "$*" in
        "python3 -m venv $install_dir/venv")
            mkdir -p "$install_dir/venv/bin"
            ln -sf "$waypost" "$install_dir/venv/bin/"
            ;;
        "$install_dir/venv/bin/pip install --no-cache-dir --upgrade waypost==$version") ;;
        env*) "$@" ;;
        *) echo "unexpected: $*" >&2; return 1 ;;
    esac
}
ynh_config_add() {
    local template=${1#--template=} destination=${2#--destination=} text name
    text=$(<"../conf/$template")
    for name in $(grep -o '__[A-Z_]*[A-Z]__' <<< "$text" | sort -u); do
        local variable=${name//__/}
        variable=${variable,,}
        text=${text//$name/${!variable}}
    done
    rm -f "$destination"
    printf '%s\n' "$text" > "$destination"
}
ynh_config_add_systemd() { ynh_config_add --template=systemd.service --destination="$system/$app.service"; }
ynh_config_add_nginx() { ynh_config_add --template=nginx.conf --destination="$system/nginx.conf"; }
ynh_config_change_url_nginx() { :; }
ynh_config_remove_systemd() { :; }
ynh_config_remove_nginx() { :; }
ynh_systemctl() { echo "$*" >> "$system/systemctl"; }
ynh_backup() { echo "$1" >> "$system/backed_up"; }
ynh_restore() { :; }
yunohost() { :; }
systemctl() { :; }
chown() { :; }
"""
"""What YunoHost provides, as far as the scripts use it. A setting that they use and do not have is an error."""


class YunoHost:
    def __init__(self, directory: Path, port: int) -> None:
        self._directory = directory
        shutil.copytree(STORES / "yunohost", directory / "package")
        (directory / "package" / "settings").symlink_to(".")  # where `backup` and `restore` find the other scripts
        (directory / "helpers").write_text(HELPERS)
        for name in ("install", "data", "system"):
            (directory / name).mkdir()
        manifest = tomllib.loads((directory / "package" / "manifest.toml").read_text())
        self._variables = {
            "PATH": os.environ["PATH"],
            "app": manifest["id"],
            "version": manifest["version"].partition("~")[0],
            "waypost": str(Path(sys.executable).with_name("waypost")),
            "domain": "go.example.com",
            "port": str(port),
            "install_dir": str(directory / "install"),
            "data_dir": str(directory / "data"),
            "system": str(directory / "system"),
        }

    def run(self, script: str, **variables: str) -> None:
        path = self._directory / "package" / "scripts" / script
        path.write_text(path.read_text().replace("/usr/share/yunohost/helpers", str(self._directory / "helpers")))
        done = subprocess.run(
            ["bash", path.name],
            cwd=path.parent,
            env=self._variables | variables,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def serve(self) -> subprocess.Popen[bytes]:
        """As systemd does, by the unit."""
        unit = (self._directory / "system" / "waypost.service").read_text()
        command = re.search(r"^ExecStart=(.+)", unit, re.MULTILINE)
        file = re.search(r"^EnvironmentFile=(.+)", unit, re.MULTILINE)
        assert command
        assert file
        settings = dict(line.split("=", 1) for line in Path(file[1]).read_text().splitlines())
        return subprocess.Popen(
            command[1].split(), cwd=self._directory / "data", env=settings | {"PATH": "/usr/bin:/bin"}
        )


def test_the_package_for_yunohost(tmp_path: Path) -> None:
    """Install, sign in, back up while it runs, lose the data, restore, sign in."""
    port = free_port()
    yunohost = YunoHost(tmp_path, port)
    yunohost.run("install", admin="ada", password=PASSWORD)
    headers = {"Host": "go.example.com", "Origin": "https://go.example.com", "X-Forwarded-Proto": "https"}
    headers["X-Forwarded-For"] = "192.0.2.1"
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False) as client:
        for is_restored in (False, True):
            process = yunohost.serve()
            try:
                wait_until_ready(f"http://127.0.0.1:{port}")
                sign_in(client, EMAIL)
                if not is_restored:
                    yunohost.run("backup")
                    yunohost.run("upgrade", owner_email=EMAIL)
            finally:
                process.terminate()
                process.wait()
            if not is_restored:
                key = (tmp_path / "data" / "secret.key").read_text()
                (tmp_path / "data" / "secret.key").write_text("lost")
                yunohost.run("restore")
                assert (tmp_path / "data" / "secret.key").read_text() == key
    nginx = (tmp_path / "system" / "nginx.conf").read_text()
    assert f"proxy_pass http://127.0.0.1:{port};" in nginx
    saved = (tmp_path / "system" / "backed_up").read_text().splitlines()
    assert str(tmp_path / "install") in saved
    yunohost.run("remove")


PROXMOX = r"""
for each in color verb_ip6 catch_errors setting_up_container network_check update_os motd_ssh customize cleanup_lxc \
    header_info variables description check_container_storage check_container_resources msg_info msg_ok; do
    eval "$each() { :; }"
done
import_local_ip() { LOCAL_IP=192.168.1.30; }
fetch_and_deploy_gh_release() { echo "release $*"; mkdir -p /etc/waypost; }
check_for_gh_release() { echo "check $*"; }
start() { [ -z "${UPDATE-}" ] || update_script; }
build_container() { CTID=100; }
msg_error() { echo "error $*"; }
for each in CREATING GN CL INFO YW TAB GATEWAY BGN; do eval "$each="; done
"""
"""The functions that the community scripts provide, as far as ours use them."""


@needs_containers
def test_the_script_for_proxmox(tmp_path: Path) -> None:
    programs = {
        "curl": f"cat <<'END'\n{PROXMOX}\nEND",
        "pct": "echo 'Set up the dashboard in a browser: http://192.168.1.30:8000/setup?code=abc-def'",
        "systemctl": 'echo "systemctl $*"',
        "waypost": 'echo "waypost $*"',
        "dpkg": "echo amd64",
        "rm": 'echo "rm $*"',
        "mv": 'echo "mv $*"',
    }
    (tmp_path / "bin").mkdir()
    for name, text in programs.items():
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    environment = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "FUNCTIONS_FILE_PATH": PROXMOX}

    (tmp_path / "lib" / "waypost").mkdir(parents=True)
    for name in ("etc", "work"):
        (tmp_path / name).mkdir()
    overlays = (
        "mount --make-rprivate /"
        f" && mount -t overlay overlay -o lowerdir=/etc,upperdir={tmp_path}/etc,workdir={tmp_path}/work /etc"
        f" && mount -t overlay overlay -o lowerdir={tmp_path}/lib:/usr/lib /usr/lib"
    )

    def run(script: str, **variables: str) -> str:
        """What it writes to /etc is in a directory of the test."""
        done = subprocess.run(
            ["unshare", "--mount", "bash", "-c", f"{overlays} && exec bash {STORES}/proxmox/{script}"],
            env=environment | variables,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    package = "release waypost waypost/waypost binary latest /opt/waypost waypost_*deb13_amd64.deb"
    restarted = ["systemctl daemon-reload", "systemctl enable -q waypost", "systemctl restart waypost"]
    assert run("install/waypost-install.sh").splitlines() == [package, *restarted]
    settings = (tmp_path / "etc" / "waypost" / "waypost.env").read_text()
    assert settings == "WAYPOST_BASE_URL=http://192.168.1.30:8000\nWAYPOST_SIGNUP=invite\n"
    host = (tmp_path / "etc" / "systemd" / "system" / "waypost.service.d" / "host.conf").read_text()
    assert host.splitlines()[-2:] == [
        "ExecStart=",
        "ExecStart=/usr/lib/waypost/bin/waypost serve --host 0.0.0.0 --port 8000",
    ]
    assert "http://192.168.1.30:8000/setup?code=abc-def" in run("ct/waypost.sh").splitlines()[-1]
    assert run("ct/waypost.sh", UPDATE="yes").splitlines() == [
        "check waypost waypost/waypost",
        "rm -f /var/lib/waypost/before-update.new.tar.gz",
        "waypost backup /var/lib/waypost/before-update.new.tar.gz",
        "mv /var/lib/waypost/before-update.new.tar.gz /var/lib/waypost/before-update.tar.gz",
        package,
    ]
