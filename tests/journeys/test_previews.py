"""A link that is shared: bots fetch its preview, people follow it, and only people are counted."""

import re
from collections.abc import Iterator

import httpx
import pytest
from journeys.service import Service, Website, eventually

BOTS = {
    "crawler": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "preview": "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "another preview": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
}
PERSON = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service")) as running:
        yield running


def visit(service: Service, slug: str, agent: str, method: str = "GET", **headers: str) -> httpx.Response:
    return service.client.request(method, f"/{slug}", headers={"User-Agent": agent} | headers)


def tags(answer: httpx.Response) -> dict[str, str]:
    assert (answer.status_code, answer.headers["X-Robots-Tag"]) == (200, "noindex")
    return dict(re.findall(r'<meta (?:property|name)="([^"]+)" content="([^"]*)">', answer.text))


def test_bots_get_the_preview_and_people_are_counted(service: Service) -> None:
    with Website() as page:
        made = service.client.post("/api/v1/links", json={"slug": "shared", "destination_url": page.url}).json()["data"]
    for agent in BOTS.values():
        reported = tags(visit(service, "shared", agent))
        assert (reported["og:title"], reported["og:description"]) == ("A page", "About it")
        assert reported["og:url"] == f"{service.base_url}/shared"
        assert visit(service, "shared", agent, "HEAD").content == b""
    assert visit(service, "shared", PERSON, **{"Sec-Purpose": "prefetch"}).status_code == 302
    for agent in (PERSON, "curl/8.5.0", "python-requests/2.32", ""):
        assert visit(service, "shared", agent).status_code == 302

    link = f"/api/v1/links/{made['id']}"
    eventually(lambda: service.client.get(link).json()["data"]["clicks"] == 4, every=2)
    kinds = [click["kind"] for click in service.client.get(f"{link}/clicks?kind=all").json()["data"]]
    assert sorted(kinds) == ["crawler", *["human"] * 4, "prefetch", "preview", "preview"]


def test_a_change_is_seen_by_the_next_bot(service: Service) -> None:
    with Website() as page:
        made = service.client.post("/api/v1/links", json={"slug": "news", "destination_url": page.url}).json()["data"]
    for title in ("First", "Second"):
        service.client.patch(f"/api/v1/links/{made['id']}", json={"og_title": title})
        assert tags(visit(service, "news", BOTS["preview"]))["og:title"] == title
    service.client.delete(f"/api/v1/links/{made['id']}")
    gone = visit(service, "news", BOTS["preview"])
    assert (gone.status_code, "<h1>Link not found" in gone.text) == (404, True)
