"""The Compose files of app stores, each as its store starts it: user, directory, variables, and the first sign-in.

`make test-nodes`.
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

pytest.importorskip("podman_compose", reason="podman_compose is missing: make test-nodes installs it")

from deployments.compose import SERVE, services
from deployments.containers import USER, Container, Image, needs_containers, running
from deployments.machine import ROOT
from deployments.stores import wait_until_ready
from journeys.service import eventually
from nodes.network import Network

PASSWORD = "0f6c5a4e8d7b" * 5
ADDRESS = "10.87.0.21"


@dataclass
class Store:
    """What it puts into a Compose file, and who owns the directory that it creates."""

    file: str
    service: str
    host: str
    owner: int
    variables: dict[str, str]
    email: str = "you@example.com"
    """Empty: the set-up page asks for it."""


STORES = {
    "casaos": Store("docker-compose.yml", "waypost", "casaos.local:8764", 0, {"AppID": "waypost"}, email=""),
    "umbrel": Store(
        "docker-compose.yml",
        "web",
        "umbrel.local:8764",
        1000,
        {
            "DEVICE_DOMAIN_NAME": "umbrel.local",
            "APP_PROXY_PORT": "8764",
            "NETWORK_IP": "10.21.0.0",
            "APP_PASSWORD": PASSWORD,
        },
        email="owner@umbrel.local",
    ),
    "runtipi": Store(
        "docker-compose.yml",
        "waypost",
        "192.168.1.20:8764",
        USER,
        {"APP_DOMAIN": "192.168.1.20:8764"}
        | {"WAYPOST_OWNER_EMAIL": "you@example.com", "WAYPOST_OWNER_PASSWORD": PASSWORD},
    ),
    "coolify": Store(
        "waypost.yaml",
        "waypost",
        "go.example.com",
        USER,
        {"SERVICE_URL_WAYPOST": "http://go.example.com", "SERVICE_PASSWORD_WAYPOST": PASSWORD}
        | {"WAYPOST_OWNER_EMAIL": "you@example.com"},
    ),
}


@needs_containers
@pytest.mark.parametrize("name", STORES)
def test_the_owner_signs_in_without_a_shell(name: str, directory: Path, network: Network) -> None:
    store = STORES[name]
    project = directory / "project"
    project.mkdir()
    shutil.copy(ROOT / "deploy" / "stores" / name / store.file, project / "docker-compose.yml")
    data = directory / "data"
    variables = store.variables | {"APP_DATA_DIR": str(data)}
    (project / ".env").write_text("".join(f"{key}={value}\n" for key, value in variables.items()))
    service = services(project)[store.service]
    volume = data / "data"
    volume.mkdir(parents=True)
    os.chown(volume, store.owner, store.owner)
    network.add("store", ADDRESS)
    environment = service["environment"]
    if isinstance(environment, list):
        environment = dict(each.partition("=")[::2] for each in environment)
    waypost = Container(
        Image(directory),
        network,
        "store",
        ["waypost", *SERVE],
        environment={key: value or "" for key, value in environment.items() if key.startswith("WAYPOST_")},
        mounts=[f"{volume}:/data:rw"],
        user=int(service.get("user", str(USER)).partition(":")[0]),
    )
    headers = {"Host": store.host, "Origin": f"http://{store.host}"}
    with running(waypost), httpx.Client(base_url=f"http://{ADDRESS}:8000", headers=headers, trust_env=False) as client:
        wait_until_ready(str(client.base_url))
        if store.email:
            fields = {"email": store.email, "password": PASSWORD}
            assert client.post("/login", data=fields).status_code == 303
        else:
            eventually(lambda: "/setup?code=" in waypost.log)
            found = re.search(rf"http://{store.host}(/setup\?code=\S+)", waypost.log)
            assert found, waypost.log
            page = client.get(found[1])
            assert page.status_code == 200
            assert found[1].partition("=")[2] in page.text
        assert waypost.stop() == 0
