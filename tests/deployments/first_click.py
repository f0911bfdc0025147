"""What the installation pages promise: a short link, and a click on it that is counted."""

import re
from typing import Any

import httpx
from journeys.service import eventually

VISITOR = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


def api_key(first_start: str) -> str:
    """The key in `first-start.txt`."""
    found = re.search(r"Bearer (\w+)", first_start)
    assert found, first_start
    return found[1]


def count_a_click(url: str, key: str, destination: str, *, host: str = "", visits: str = "") -> dict[str, Any]:
    """Returns the click.

    `host`: that of the service, if it is not in the URL. `visits`: the origin that redirects, if it is not the API's.
    """
    headers = {"Authorization": f"Bearer {key}", "User-Agent": VISITOR} | ({"Host": host} if host else {})
    with httpx.Client(headers=headers, timeout=60, trust_env=False) as client:
        created = client.post(f"{url}/api/v1/links", json={"destination_url": destination})
        assert created.status_code == 201, created.text
        link = created.json()["data"]
        visit = client.get(f"{visits or url}/{link['slug']}")
        assert (visit.status_code, visit.headers["location"]) == (302, destination), visit.text
        clicks: list[dict[str, Any]] = []

        def are_counted() -> bool:
            clicks[:] = client.get(f"{url}/api/v1/links/{link['id']}/clicks").json()["data"]
            return bool(clicks)

        eventually(are_counted, every=0.1)
    assert len(clicks) == 1
    return clicks[0]
