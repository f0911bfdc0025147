"""The plugin for WordPress against the service, with scripted functions of WordPress."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from journeys.service import Service, Website, free_port
from python_client.fault_proxy import FaultProxy

from integrations.programs import INTEGRATIONS

HERE = Path(__file__).parent
SHORT_URL = "_waypost_short_url"
PENDING = "_waypost_pending"


class WordPress:
    """A site with a post (1), a page (2) and a menu item (3)."""

    def __init__(self, service: Service, website: Website, name: str) -> None:
        self.constants = {"WAYPOST_URL": service.base_url, "WAYPOST_API_KEY": service.new_key()}
        self.url = f"{website.url}/{name}"
        self.posts = {
            1: {
                "type": "post",
                "status": "publish",
                "url": f"{self.url}/1",
                "title": "Ada &#8217;s &amp; <b>Bob</b> 🚀",
            },
            2: {"type": "page", "status": "publish", "url": f"{self.url}/2", "title": ""},
            3: {"type": "nav_menu_item", "status": "publish", "url": f"{self.url}/3", "title": "Menu"},
        }

    def run(self, *steps: list[Any], **given: Any) -> tuple[dict[str, Any], str]:
        """What is left, and the log."""
        php = shutil.which("php")
        if not php:
            pytest.skip("PHP is missing: apt-get install php-cli (make test does it as root)")
        plugin = INTEGRATIONS / "wordpress" / "waypost-short-links.php"
        given |= {"constants": self.constants, "posts": self.posts, "steps": steps, "plugin": str(plugin)}
        command = [php, "-n", "-d", "display_errors=stderr", "-d", "error_reporting=-1"]
        done = subprocess.run(
            [*command, HERE / "wordpress.php"],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr


@pytest.fixture
def blog(service: Service, website: Website, request: pytest.FixtureRequest) -> WordPress:
    return WordPress(service, website, request.node.name)


def links(service: Service, blog: WordPress) -> list[dict[str, Any]]:
    found = service.client.get("/api/v1/links", params={"per_page": 100, "search": blog.url}).json()["data"]
    return sorted(found, key=lambda link: link["destination_url"])


def test_creates_a_short_link_when_a_post_is_published(blog: WordPress, service: Service) -> None:
    published = [["publish", 1, "draft"], ["publish", 1, "publish"], ["publish", 2, "future"], ["publish", 3, "draft"]]
    left, log = blog.run(*published, ["cron"], ["publish", 1, "publish"], ["cron"], ["shortlink", 1, "post"])
    first, second = links(service, blog)
    assert (first["title"], log) == ("Ada \u2019s & Bob 🚀", "")
    assert left["meta"] == {
        "1": {SHORT_URL: f"http://{first['short_url']}"},
        "2": {SHORT_URL: f"http://{second['short_url']}"},
    }
    assert (left["results"], left["scheduled"]) == ([f"http://{first['short_url']}"], [])


def test_is_the_shortlink_of_the_page_that_is_shown(blog: WordPress) -> None:
    meta = {"1": {SHORT_URL: "https://go.example.com/a"}}
    steps = [["shortlink", 0, "query"], ["shortlink", 1, "post"], ["shortlink", 2, "post"]]
    assert blog.run(*steps, meta=meta, queried=1)[0]["results"] == ["https://go.example.com/a"] * 2 + [False]
    assert blog.run(["shortlink", 0, "query"], meta=meta)[0]["results"] == [False]


def test_creates_one_link_if_the_response_is_lost(blog: WordPress, service: Service, proxy: FaultProxy) -> None:
    blog.constants["WAYPOST_URL"] = proxy.url
    proxy.faults.append("drop after")
    left, log = blog.run(["publish", 1, "draft"], ["cron"], ["cron"])
    [link] = links(service, blog)
    assert left["meta"]["1"][SHORT_URL].endswith(f"/{link['slug']}")
    assert "no short link for post 1: could not connect" in log


def test_creates_the_link_though_wordpress_loses_an_event(blog: WordPress, service: Service) -> None:
    shown = ["shortlink", 1, "post"]
    left, _ = blog.run(["publish", 1, "draft"], ["lose events"], shown, shown, ["cron"], shown)
    [link] = links(service, blog)
    assert (left["results"], left["scheduled"]) == ([False, False, f"http://{link['short_url']}"], [])


def test_tries_again_later_while_the_service_is_down(blog: WordPress, proxy: FaultProxy) -> None:
    blog.constants["WAYPOST_URL"] = f"http://127.0.0.1:{free_port()}"
    left, _ = blog.run(["publish", 1, "draft"], ["cron"])
    assert (left["meta"], left["scheduled"]) == ({"1": {PENDING: 1}}, [[60, "waypost_shorten", [1, 1]]])
    left, _ = blog.run(["publish", 1, "draft"], *[["cron"]] * 5)
    assert (left["meta"], left["scheduled"]) == ({"1": []}, [])
    blog.constants["WAYPOST_URL"] = proxy.url
    proxy.faults.append("429")
    assert blog.run(["publish", 1, "draft"], ["cron"])[0]["scheduled"] == [[60, "waypost_shorten", [1, 1]]]


@pytest.mark.parametrize(
    ("constants", "problem"),
    [
        ({"WAYPOST_API_KEY": "wp_live_wrong"}, "unauthenticated"),
        ({"WAYPOST_HOSTNAME": "other.example"}, "hostname"),
    ],
)
def test_logs_why_there_is_no_link(blog: WordPress, constants: dict[str, str], problem: str) -> None:
    blog.constants |= constants
    left, log = blog.run(["publish", 1, "draft"], ["cron"])
    assert (left["meta"], left["scheduled"], problem in log) == ({"1": []}, [], True)
    assert "wp_live_" not in log


def test_logs_that_settings_or_waypost_are_missing(blog: WordPress, proxy: FaultProxy) -> None:
    blog.constants["WAYPOST_URL"] = proxy.url
    proxy.faults.append("page")
    assert "status 200, not from Waypost" in blog.run(["publish", 1, "draft"], ["cron"])[1]
    del blog.constants["WAYPOST_URL"]
    assert "is missing in wp-config.php" in blog.run(["publish", 1, "draft"], ["cron"])[1]


def test_links_only_to_what_is_published(blog: WordPress, service: Service) -> None:
    blog.posts[1]["status"] = "trash"  # since
    assert blog.run(["publish", 1, "draft"], ["cron"], ["shortlink", 1, "post"])[0]["results"] == [False]
    assert links(service, blog) == []
