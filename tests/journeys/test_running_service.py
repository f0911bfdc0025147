"""Commands beside a running service: they print its URLs, whatever port it uses, and those of no other."""

import json
import os
import zipfile
from pathlib import Path

import pytest
from forked import run
from journeys.service import OWNER, Service, free_port

from waypost.commands import serve

ASSUMED = "No service runs in data"


class Unconfigured(Service):
    """Without WAYPOST_BASE_URL: its port is an option, which commands don't have."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, WAYPOST_DATA_DIR="data")
        del self.environment["WAYPOST_BASE_URL"]

    def move(self) -> None:
        self.port = free_port()
        self.serving[3] = str(self.port)
        self.client.base_url = f"http://127.0.0.1:{self.port}"

    def link(self, **settings: str) -> tuple[str, str]:
        """What `sign-in-link` prints: the URL's origin, and the messages."""
        arguments = ["account", "sign-in-link", OWNER, "--json"]
        done = run(arguments, env=self.environment | settings, cwd=self.directory)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["url"].partition("/enter/")[0], done.stderr


@pytest.fixture
def service(tmp_path: Path):
    with Unconfigured(tmp_path) as service:
        yield service


def test_commands_print_the_urls_of_the_running_service(service: Unconfigured, tmp_path: Path) -> None:
    host = f"localhost:{service.port}"
    assert service.link() == (f"http://{host}", "")
    [finding] = [each for each in service.json("doctor") if each["check"] == "base URL"]
    assert finding["message"] == f"http://{host}"
    assert service.json("account", "invite", "new@example.com")["url"].startswith(f"http://{host}/")
    service.command("export", "all", "--account", OWNER, "--output", "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert (manifest["base_url"], manifest["shared_domain"]) == (f"http://{host}", host)


def test_a_service_that_was_killed_or_stopped_misleads_no_command(service: Unconfigured) -> None:
    file, first = service.directory / "data" / "run" / "service", service.port
    service.kill()
    service.ended()
    assert str(first) in file.read_text()
    assert service.link()[0] == "http://localhost:8000"
    assert service.link()[1].startswith(ASSUMED)
    service.move()
    service.start()
    assert service.link() == (f"http://localhost:{service.port}", "")
    service.stop()
    assert service.link()[0] == "http://localhost:8000"
    service.start()


def test_a_service_that_cannot_start_hides_no_running_one(service: Unconfigured) -> None:
    other = run(["serve", "--host", "192.0.2.1"], env=service.environment, cwd=service.directory)
    assert (other.returncode, "Cannot listen" in other.stderr) == (1, True)
    assert service.link() == (f"http://localhost:{service.port}", "")


def test_a_second_service_on_the_same_data_hides_not_the_first(service: Unconfigured) -> None:
    with Unconfigured(service.directory) as second:
        assert second.port != service.port
        assert service.link() == (f"http://localhost:{service.port}", "")
    assert service.link() == (f"http://localhost:{service.port}", "")


def test_a_base_url_that_is_set_goes_before_the_port(service: Unconfigured) -> None:
    behind = {"WAYPOST_BASE_URL": "https://go.example.com"}
    assert service.link(**behind) == ("https://go.example.com", "")
    assert service.link(WAYPOST_SHARED_DOMAIN="example.org") == (f"http://localhost:{service.port}", "")
    service.stop()
    service.environment |= behind
    service.start()
    del service.environment["WAYPOST_BASE_URL"]
    assert service.link() == ("https://go.example.com", "")


def test_a_worker_uses_the_urls_of_the_web_processes_beside_it(
    service: Unconfigured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its emails and webhooks contain URLs."""
    for name in ("BASE_URL", "SHARED_DOMAIN", "DATA_DIR"):
        monkeypatch.setenv(f"WAYPOST_{name}", "")  # restored in any case
        monkeypatch.delenv(f"WAYPOST_{name}")
    settings = serve._settings(8001, service.directory / "data", "worker", tls=False, tls_port=None)
    host = f"localhost:{service.port}"
    assert (settings.base_url, settings.shared_domain) == (f"http://{host}", host)
    assert (os.environ["WAYPOST_BASE_URL"], os.environ["WAYPOST_SHARED_DOMAIN"]) == (f"http://{host}", host)
