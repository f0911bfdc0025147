"""What the installation pages promise: a short link, and a click on it that is counted."""

import contextlib
import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
from journeys.service import eventually

FIRST_CLICK = "s from start to the first counted click"
VISITOR = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


@contextlib.contextmanager
def first_click_of(what: str) -> Iterator[None]:
    """Prints how long it took, for the end of the run."""
    begun = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - begun:.1f} {FIRST_CLICK}")


def api_key(first_start: str) -> str:
    """The key in `first-start.txt`."""
    found = re.search(r"Bearer (\w+)", first_start)
    assert found, first_start
    return found[1]


def count_a_click(
    url: str, key: str, destination: str, *, host: str = "", visits: tuple[str, str] | None = None
) -> dict[str, Any]:
    """Returns the click.

    `host`: that of the service, if it is not in the URL. `visits`: the origin and host of redirects, if others.
    """
    headers = {"Authorization": f"Bearer {key}", "User-Agent": VISITOR} | ({"Host": host} if host else {})
    with httpx.Client(headers=headers, timeout=60, trust_env=False) as client:
        created = client.post(f"{url}/api/v1/links", json={"destination_url": destination})
        assert created.status_code == 201, created.text
        link = created.json()["data"]
        origin, short_host = visits or (url, host)
        visit = client.get(f"{origin}/{link['slug']}", headers={"Host": short_host} if short_host else {})
        assert (visit.status_code, visit.headers["location"]) == (302, destination), visit.text
        clicks: list[dict[str, Any]] = []

        def are_counted() -> bool:
            clicks[:] = client.get(f"{url}/api/v1/links/{link['id']}/clicks").json()["data"]
            return bool(clicks)

        eventually(are_counted, every=0.1)
    assert len(clicks) == 1
    return clicks[0]


def count_a_click_in_dashboard(client: httpx.Client, destination: str) -> None:
    """By who is signed in, without an API key."""
    # httpx sends no cookie that is for HTTPS alone to a service behind a proxy, whose client this is
    client.headers["Cookie"] = "; ".join(f"{cookie.name}={cookie.value}" for cookie in client.cookies.jar)
    created = client.post("/links/new", data={"destination_url": destination, "slug": "first"})
    assert created.status_code == 303, created.text
    visit = client.get("/first", headers={"User-Agent": VISITOR})
    assert (visit.status_code, visit.headers.get("location")) == (302, destination), visit.text
    eventually(lambda: "<strong>1</strong> click<" in client.get("/links").text, every=0.1)
