"""The script for Raycast with a scripted clipboard, and the request that the file for ShareX describes."""

import json
import os
import re
import subprocess
from pathlib import Path

import httpx
import pytest
from journeys.service import Service, Website, free_port
from python_client.fault_proxy import FaultProxy

from integrations.programs import INTEGRATIONS

SCRIPT = INTEGRATIONS / "raycast" / "waypost-shorten.sh"


class Mac:
    def __init__(self, home: Path, service: Service) -> None:
        self.home = home
        self.clipboard = home / "clipboard"
        self.settings = home / ".config" / "waypost" / "raycast"
        self.settings.parent.mkdir(parents=True)
        self.settings.write_text(f"{service.base_url}/\n{service.key}\n")
        for program, command in (("pbcopy", f'cat >"{self.clipboard}"'), ("pbpaste", f'cat "{self.clipboard}"')):
            path = home / program
            path.write_text(f"#!/bin/sh\n{command}\n")
            path.chmod(0o755)

    def run(self, *arguments: str) -> tuple[int, str]:
        """As Raycast does, which passes an empty text for an argument that is left out."""
        environment = {"PATH": f"{self.home}:{os.environ['PATH']}", "HOME": str(self.home)}
        command = [SCRIPT, *(*arguments, "", "")[:2]]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return done.returncode, done.stdout.rstrip("\n")


@pytest.fixture
def mac(tmp_path: Path, service: Service) -> Mac:
    return Mac(tmp_path, service)


def test_raycast_shortens_a_url_and_the_clipboard(mac: Mac, service: Service, website: Website) -> None:
    code, text = mac.run(f'{website.url}/a"b&c=$(d)', "from-raycast")
    short = mac.clipboard.read_text()
    assert (code, text, short) == (0, f"Copied {short}", f"{service.base_url}/from-raycast")
    assert httpx.get(short).headers["location"] == f"{website.url}/a%22b&c=$(d)"
    mac.clipboard.write_text(f"{website.url}/clipboard")
    assert mac.run()[0] == 0
    assert httpx.get(mac.clipboard.read_text()).headers["location"] == f"{website.url}/clipboard"


def test_raycast_says_what_is_wrong(mac: Mac, service: Service, website: Website, proxy: FaultProxy) -> None:
    assert "slug: This must contain" in mac.run(website.url, "no blanks")[1]
    assert mac.run("nonsense") == (1, "This is not a URL: nonsense")
    mac.settings.write_text(f"{service.base_url}\nwp_live_wrong\n")
    assert "key" in mac.run(website.url)[1]
    for base_url, text in (
        ("http://go.example.com", "must begin with https://"),
        ("http://localhost.example.com", "must begin with https://"),
        (f"http://127.0.0.1:{free_port()}", "No response from"),
        (proxy.url, "There is no Waypost at"),
    ):
        proxy.faults.clear()
        proxy.faults.append("page")
        mac.settings.write_text(f"{base_url}\n{service.key}\n")
        assert text in mac.run(website.url)[1]
    mac.settings.unlink()
    assert "in two lines" in mac.run(website.url)[1]


def test_sharex_sends_what_the_api_accepts(service: Service, website: Website) -> None:
    custom = json.loads((INTEGRATIONS / "sharex" / "waypost.sxcu").read_text())
    assert (custom["DestinationType"], custom["RequestMethod"], custom["Body"]) == ("URLShortener", "POST", "JSON")
    headers = {name: text.replace("API_KEY", service.key) for name, text in custom["Headers"].items()}
    url = custom["RequestURL"].replace("https://go.example.com", service.base_url)

    def send(text: str) -> httpx.Response:
        body = custom["Data"].replace("{input}", json.dumps(text)[1:-1])  # ShareX escapes it for JSON
        return httpx.post(url, content=body, headers={**headers, "Content-Type": "application/json"}, timeout=60)

    def read(pattern: str, answer: httpx.Response) -> str:
        value = answer.json()
        [path] = re.findall(r"\{json:([\w.]+)\}", pattern)
        for name in path.split("."):
            value = value[name]
        return re.sub(r"\{json:[\w.]+\}", value, pattern)

    answer = send(f"{website.url}/sharex")
    assert read(custom["URL"], answer) == f"https://{answer.json()['data']['short_url']}"
    assert read(custom["ErrorMessage"], send("nonsense")) == send("nonsense").json()["error"]["message"]
