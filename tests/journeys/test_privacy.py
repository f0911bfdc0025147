"""R32: where no whole addresses are to be kept, none is left on the disk or in a backup once its visit is drained."""

import subprocess
from pathlib import Path

import pytest
from journeys.service import Service, Website, eventually, free_port

ADDRESS, QUERY, REFERRER = "203.0.113.77", "of-the-visitor", "of-the-referrer"
HEADERS = {
    "X-Forwarded-For": f"198.51.100.66, {ADDRESS}",
    "Forwarded": f"for=198.51.100.66, for={ADDRESS}",
    "Referer": f"https://from.example/page?q={REFERRER}",
}
TRACES = [text.encode() for text in (ADDRESS, "198.51.100.66", QUERY, REFERRER)]


@pytest.mark.parametrize(("database", "privacy"), [("sqlite", "truncated"), ("postgresql", "none")])
def test_no_trace_of_a_drained_visit(
    tmp_path: Path, request: pytest.FixtureRequest, database: str, privacy: str
) -> None:
    settings = {"WAYPOST_IP_PRIVACY": privacy, "WAYPOST_TRUSTED_PROXIES": "127.0.0.1/32"}
    if database == "postgresql":
        settings["WAYPOST_DATABASE_URL"] = request.getfixturevalue("postgres_url")
    nobody = f"http://127.0.0.1:{free_port()}"  # what is to be sent there stays in the database
    with Service(tmp_path, WAYPOST_META_URL=nobody, **settings) as service:
        link = furnish(service, nobody)
        for _ in range(3):
            assert service.client.get(f"/hello?q={QUERY}", headers=HEADERS).is_success
        clicks = f"/api/v1/links/{link}/clicks"
        eventually(lambda: len(service.client.get(clicks).json()["data"]) == 3, every=1.5)  # 60 requests a minute
        eventually(lambda: not traces_in(tmp_path / "data"))
        service.command("backup", str(tmp_path / "backup.tar"))
    (tmp_path / "backup").mkdir()
    subprocess.run(["tar", "-xf", tmp_path / "backup.tar", "-C", tmp_path / "backup"], check=True)
    assert not traces_in(tmp_path / "data")
    assert not traces_in(tmp_path / "backup")


def furnish(service: Service, nobody: str) -> str:
    """A link of whose clicks a webhook and a platform get events. Returns its id."""

    def post(path: str, **fields: object) -> str:
        answer = service.client.post(f"/api/v1/{path}", json=fields)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["data"]["id"])

    pixel = post("pixels", platform="facebook", name="Ads", pixel_id="12345", access_token="token")
    post("webhooks", url=nobody.replace("http", "https"), event_types=["link.clicked", "pixel.fired"])
    with Website() as page:
        return post("links", slug="hello", destination_url=page.url, pixel_ids=[pixel])


def traces_in(directory: Path) -> list[tuple[Path, bytes]]:
    contents = [(path, path.read_bytes()) for path in directory.rglob("*") if path.is_file()]
    return [(path, trace) for path, content in contents for trace in TRACES if trace in content]
