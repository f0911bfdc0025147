"""compose.yaml: read by the tools that users have, for each of its profiles."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("podman_compose", reason="podman_compose is missing: make test installs it")

from deployments.compose import PROFILES, project, services

from waypost.settings import PREFIX, Settings

EXPECTED = {
    "sqlite": {"waypost"},
    "postgres": {"secrets", "postgres", "migrate", "waypost"},
    "scale": {"secrets", "postgres", "clickhouse", "migrate", "waypost", "waypost-b", "haproxy"},
}
OURS = {"secrets", "migrate", "waypost", "waypost-b"}


def installed_compose() -> list[str]:
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]):
            done = subprocess.run([*command, "version", "--short"], check=False, capture_output=True, text=True)
            if done.returncode == 0 and done.stdout.lstrip("v").startswith("2."):
                return command
    return []


@pytest.fixture(params=PROFILES, scope="module")
def profile(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, profile: str) -> Path:
    return project(tmp_path_factory.mktemp(profile), profile)


@pytest.fixture(scope="module")
def started(directory: Path) -> dict[str, Any]:
    return services(directory)


@pytest.mark.skipif(not installed_compose(), reason="Docker Compose 2 is missing")
def test_docker_compose_accepts_it(directory: Path, profile: str) -> None:
    command = [*installed_compose(), "config", "--services"]
    done = subprocess.run(command, check=False, cwd=directory, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) == EXPECTED[profile]


def test_a_profile_starts_its_services(started: dict[str, Any], profile: str) -> None:
    assert started.keys() == EXPECTED[profile]


def test_settings_exist(started: dict[str, Any]) -> None:
    names = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    for name in OURS & started.keys():
        used = {each for each in started[name]["environment"] if each.startswith(PREFIX)}
        assert {each.removesuffix("_FILE") for each in used} <= names


def test_containers_have_no_privileges(started: dict[str, Any]) -> None:
    for name in OURS & started.keys():
        service = started[name]
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_ports_are_private_by_default(started: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in started.items() if service.get("ports")}
    assert published.pop("waypost") == ["127.0.0.1:8000:8000", "127.0.0.1:8443:8443"]
    assert published in ({}, {"haproxy": ["127.0.0.1:8080:80"]})


def test_no_password_is_in_an_environment(started: dict[str, Any]) -> None:
    for service in started.values():
        for name, value in service.get("environment", {}).items():
            assert name.endswith("_FILE") or not any(word in name for word in ("PASSWORD", "SECRET", "KEY")), name
            assert "@" not in value
