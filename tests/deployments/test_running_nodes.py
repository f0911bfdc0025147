"""Several nodes as compose.yaml and the Helm chart say: commands, users, settings, volumes, addresses, probes, end.

The containers are namespaces of this machine; PostgreSQL, ClickHouse and HAProxy are its programs. `make test-nodes`.
"""

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("podman_compose", reason="podman_compose is missing: make test-nodes installs it")
pytest.importorskip("chdb", reason="chdb is missing: make test-nodes installs it")
pytest.importorskip("helm_python", reason="helm_python is missing: make test-nodes installs it")

from deployments.compose import SERVE, Compose
from deployments.containers import USER, Container, Image, needs_containers, running
from deployments.first_click import api_key, count_a_click, first_click_of
from deployments.helm import Rendering, render
from deployments.stores import CLICKHOUSE, CLIENT, POSTGRES, running_clickhouse, running_postgres, wait_until_ready
from journeys.service import Website, eventually
from nodes.network import Network

ADDRESSES = {"redirect": "10.87.0.11", "web": "10.87.0.12", "migrate": "10.87.0.13", "single": "10.87.0.14"}
SETTINGS = {"WAYPOST_OUTBOUND_ALLOW": "10.87.0.0/24"}
NODES = {
    "mode": "nodes",
    "baseUrl": "http://app.example.com",
    "sharedDomain": "go.example.com",
    "settings": SETTINGS,
    "secrets": {"database_url": f"postgresql://waypost:secret@{POSTGRES}/waypost", "secret_key": "k" * 40},
}
SINGLE = {
    "baseUrl": "http://go.example.com",
    "settings": SETTINGS,
    "ownerEmail": "you@example.com",
    "secrets": {"owner_password": "four plain words suffice"},
}


class Pod:
    """On a machine of its own, which its containers share."""

    def __init__(self, role: str, chart: Rendering, image: Image, network: Network, secret: Path) -> None:
        self.url = f"http://{ADDRESSES[role]}:8000"
        workloads = {each["metadata"]["name"]: each for each in chart.of_kind("StatefulSet", "Job")}
        pod = workloads[f"links-waypost-{role}".removesuffix("-single")]["spec"]["template"]["spec"]
        self._specs: list[dict[str, Any]] = pod["containers"]
        network.add(role, ADDRESSES[role])
        data = image.volume(role, owner=0)
        os.chown(data, 0, USER)  # what fsGroup does
        data.chmod(0o2775)
        self._volumes = {"data": f"{data}:/data:rw", "secrets": f"{secret}:/run/secrets/waypost:ro"}
        self._run = lambda command, environment, mounts: Container(
            image, network, role, command, environment=environment, mounts=mounts
        )

    def container(self, index: int = 0, *command: str) -> Container:
        """The one of the chart, or one with the same settings for a command."""
        spec = self._specs[index]
        settings = {each["name"]: each["value"] for each in spec["env"]}
        mounts = [self._volumes[each["name"]] for each in spec["volumeMounts"] if each["name"] != "tmp"]
        return self._run(["waypost", *(command or spec["args"])], settings, mounts)

    def probe(self) -> None:
        """As the kubelet does: the Host header is the address of the pod."""
        for spec in self._specs:
            ports = {each["name"]: each["containerPort"] for each in spec["ports"]}
            for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
                if kind in spec:
                    asked = spec[kind]["httpGet"]
                    url = f"{self.url.removesuffix(':8000')}:{ports[asked['port']]}{asked['path']}"
                    assert httpx.get(url, trust_env=False).status_code == 200, url


def mounted_secret(directory: Path, chart: Rendering) -> Path:
    """As Kubernetes mounts it: names are links to a directory that is replaced as a whole."""
    path = directory / "secret"
    (path / "..1").mkdir(parents=True)
    (path / "..data").symlink_to("..1")
    for name, value in chart.by_name()["Secret/links-waypost"]["stringData"].items():
        file = path / "..1" / name
        file.write_text(value)
        os.chown(file, 0, USER)
        file.chmod(0o440)
        (path / name).symlink_to(f"..data/{name}")
    return path


@needs_containers
def test_one_pod(directory: Path, network: Network) -> None:
    [chart] = render(SINGLE)
    pod = Pod("single", chart, Image(directory), network, mounted_secret(directory, chart))
    waypost = pod.container()
    with running(waypost), Website(CLIENT) as page:
        with first_click_of("Helm chart, one pod"):
            wait_until_ready(pod.url)
            pod.probe()
            key = pod.container(0, "key", "create", "--account", "you@example.com", "--name", "test", "--json")
            key.run()
            count_a_click(pod.url, json.loads(key.log)["key"], page.url, host="go.example.com")
        assert waypost.stop() == 0


@needs_containers
def test_pods_share_their_volume_with_their_worker(directory: Path, network: Network) -> None:
    [chart] = render(NODES)
    secret = mounted_secret(directory, chart)
    image = Image(directory)
    with running_postgres(directory, network, "secret"):
        Pod("migrate", chart, image, network, secret).container().run()
        web, redirect = (Pod(role, chart, image, network, secret) for role in ("web", "redirect"))
        containers = [pod.container(index) for pod in (web, redirect) for index in (0, 1)]
        with running(*containers), Website(CLIENT) as page:
            with first_click_of("Helm chart, pods for redirects and for the rest"):
                web.container(0, "account", "create", "you@example.com", "--plan", "lifetime").run()
                key = web.container(0, "key", "create", "--account", "you@example.com", "--name", "test", "--json")
                key.run()
                for pod in (web, redirect):
                    wait_until_ready(pod.url)
                    pod.probe()
                count_a_click(
                    web.url,
                    json.loads(key.log)["key"],
                    page.url,
                    host="app.example.com",
                    visits=(redirect.url, "go.example.com"),
                )
            for container in containers:  # the worker last
                assert container.stop() == 0


@needs_containers
def test_two_nodes(directory: Path, network: Network) -> None:
    compose = Compose(directory, network, "scale")
    compose.container("secrets").run()
    secrets = compose.image.volume("secrets")
    assert {path.name: path.stat().st_mode & 0o777 for path in secrets.iterdir()} == dict.fromkeys(
        ("postgres_password", "database_url", "clickhouse_password", "clickhouse_url", "secret_key"), 0o440
    )
    password = (secrets / "postgres_password").read_text()
    with running_postgres(directory, network, password), running_clickhouse(directory, network) as clickhouse_url:
        (secrets / "clickhouse_url").write_text(clickhouse_url)
        compose.image.hosts.write_text(f"{POSTGRES} postgres\n{CLICKHOUSE} clickhouse\n")
        compose.container("migrate").run()
        nodes = [compose.container(name, SERVE) for name in ("waypost", "waypost-b")]
        haproxy = compose.container("haproxy")
        network.run("haproxy", "sysctl", "--write", "net.ipv4.ip_unprivileged_port_start=0")
        with running(*nodes, haproxy), Website(CLIENT) as page:
            host = "localhost:8080"
            with first_click_of("compose.yaml, two nodes with PostgreSQL and ClickHouse"):
                for address in ("10.87.0.21:8000", "10.87.0.22:8000", "10.87.0.2"):
                    wait_until_ready(f"http://{address}")
                written = [compose.image.volume(name) / "first-start.txt" for name in ("data", "data-b")]
                eventually(lambda: any(path.exists() for path in written))
                [first_start] = [path.read_text() for path in written if path.exists()]
                click = count_a_click("http://10.87.0.2", api_key(first_start), page.url, host=host)
            assert click["ip"] == CLIENT  # HAProxy is trusted, and nobody else
            assert [node.stop() for node in nodes] == [0, 0]
