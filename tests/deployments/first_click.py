"""What the installation pages promise: a short link, and a click on it that is counted."""

import re

import httpx
from journeys.service import eventually

VISITOR = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


def api_key(first_start: str) -> str:
    """The key in `first-start.txt`."""
    found = re.search(r"Bearer (\w+)", first_start)
    assert found, first_start
    return found[1]


def count_a_click(url: str, key: str, destination: str, *, visits: str = "") -> None:
    """`visits`: the origin that redirects, if it is not that of the API."""
    with httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=60, trust_env=False) as client:
        created = client.post(f"{url}/api/v1/links", json={"destination_url": destination})
        assert created.status_code == 201, created.text
        link = created.json()["data"]
        visit = client.get(f"{visits or url}/{link['slug']}", headers={"User-Agent": VISITOR})
        assert (visit.status_code, visit.headers["location"]) == (302, destination), visit.text
        clicks = f"{url}/api/v1/links/{link['id']}/clicks"
        eventually(lambda: len(client.get(clicks).json()["data"]) == 1, every=0.1)
