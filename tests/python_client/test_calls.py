"""Each resource of the client against the real service."""

import asyncio
import io
import multiprocessing
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from journeys.service import Service, Website, eventually
from PIL import Image
from waypost_client import AsyncWaypost, Forbidden, NotFound, ValidationError, Waypost, WaypostError
from waypost_client.models import Rule

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


def test_links(client: Waypost, website: Website) -> None:
    expires = datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC)
    link = client.links.create(
        destination_url=website.url,
        slug="all-fields",
        title="A title",
        tags=["one", "two"],
        utm_params={"utm_source": "mail"},
        expires_at=expires,
        og_image=None,
    )
    assert (link.slug, link.title, link.tags, link.expires_at) == ("all-fields", "A title", ["one", "two"], expires)
    assert (link.utm_params.utm_source, link.utm_params.utm_term, link.status) == ("mail", None, "active")
    assert link.created_at.tzinfo is UTC
    read = client.links.get(link.id)
    assert read == link
    changed = client.links.update(link.id, expires_at=None, title="Other")
    assert (changed.expires_at, changed.title, changed.tags) == (None, "Other", ["one", "two"])
    kept = client.links.update(link.id, destination_url=website.url, utm_params=link.utm_params)
    assert kept.utm_params == link.utm_params
    [listed] = client.links.list(search="all-fields")
    assert (listed.slug, listed.etag) == ("all-fields", None)
    with pytest.raises(WaypostError) as refused:
        client.links.delete(link.id, if_match=read.etag)
    assert refused.value.status == 412
    code = client.qrcodes.get(link.id)
    client.qrcodes.set_style(link.id, style="dots", if_match=code.etag)
    with pytest.raises(WaypostError) as refused:
        client.qrcodes.set_style(link.id, style="fluid", if_match=code.etag)
    assert refused.value.status == 412
    client.links.delete(link.id, if_match=kept.etag)
    with pytest.raises(NotFound):
        client.links.get(link.id)


def test_images_of_links(client: Waypost, website: Website, tmp_path: Path) -> None:
    image = io.BytesIO()
    Image.new("RGB", (1, 1)).save(image, "PNG")
    (tmp_path / "a.png").write_bytes(image.getvalue())
    link = client.links.create(
        destination_url=website.url,
        og_image_file=image.getvalue(),
        tags=["a", "b"],
        utm_params={"utm_source": "mail"},
        expires_at=datetime.now(UTC) + timedelta(days=1),
    )
    assert link.og_image
    assert (link.tags, link.utm_params.utm_source) == (["a", "b"], "mail")
    image.seek(0)
    changed = client.links.update(link.id, og_image_file=image, expires_at=None, tags=[])
    assert (changed.og_image, changed.expires_at, changed.tags) != (link.og_image, None, link.tags)
    assert (changed.expires_at, changed.tags) == (None, [])
    assert client.links.update(link.id, og_image_file=tmp_path / "a.png").og_image


def test_many_links(client: Waypost, website: Website) -> None:
    made = client.links.bulk_create([{"destination_url": website.url, "title": "a"}, {"destination_url": "ftp://a.b"}])
    assert ([row.status for row in made.data], made.meta.created, made.meta.retry) == (["created", "invalid"], 1, None)
    assert made.data[0].link
    assert made.data[1].errors
    ids = [made.data[0].link.id]
    changed = client.links.bulk_update(ids, {"add_tags": ["many"], "expires_at": datetime(2999, 1, 1, tzinfo=UTC)})
    assert changed.meta.updated == 1
    assert [each.id for each in client.links.list(tag="many", status="active")] == ids
    with pytest.raises(ValidationError, match=r"set\.status"):
        client.links.bulk_update(ids=ids, set={"status": "broken"})  # type: ignore[typeddict-item]
    assert [row.status for row in client.links.bulk_delete(ids).data] == ["deleted"]


def test_many_qr_codes(client: Waypost, website: Website) -> None:
    link = client.links.create(destination_url=website.url, slug="in-a-file", tags=["files"])
    archive = zipfile.ZipFile(io.BytesIO(client.qrcodes.archive(tag="files", format="svg")))
    assert archive.namelist() == ["in-a-file.svg", "codes.csv"]
    sheet = client.qrcodes.sheet(ids=[link.id], grid={"columns": 2, "rows": 3}, start=6)
    assert sheet.startswith(b"%PDF-")
    with pytest.raises(ValidationError, match=r"ids\.1"):
        client.qrcodes.archive(ids=[link.id, "1"])


def test_domains_aliases_and_routing(client: Waypost, website: Website) -> None:
    domain = client.domains.create(hostname="go.brand.test")
    assert (domain.status, domain.tls.status, {each.type for each in domain.dns_records}) == (
        "pending",
        "none",
        {"TXT", "CNAME"},
    )
    assert client.domains.update(domain.id, root_url=website.url).root_url == website.url
    assert client.domains.update(domain.id, root_url=None).root_url is None
    assert client.domains.verify(domain.id).status == "verifying"
    documents = client.domains.set_app_links(
        domain.id, apple_app_site_association={"webcredentials": {"apps": ["A1B2C3D4E5.com.example"]}}
    )
    assert client.domains.get_app_links(domain.id) == documents
    link = client.links.create(destination_url=website.url, hostname=domain.hostname)
    alias = client.links.create_alias(link.id, domain.hostname, "a path/with slashes")
    assert list(client.links.list_aliases(link.id)) == [alias]
    client.links.delete_alias(link.id, alias.id)
    assert list(client.links.list_aliases(link.id)) == []
    routing = client.links.set_routing(
        link.id,
        rules=[
            {
                "name": "Evening",
                "destination_url": website.url,
                "conditions": [
                    {"type": "schedule", "weekdays": [5], "from": "18:00", "to": "23:00", "timezone": "UTC"}
                ],
            }
        ],
        variants=[{"name": "B", "destination_url": website.url, "weight": 50}],
        password="secret",
    )
    assert (routing.has_password, routing.rules[0].conditions[0].from_, routing.rules[0].conditions[0].name) == (
        True,
        "18:00",
        None,
    )
    rule = Rule("Night", routing.rules[0].conditions, website.url)
    again = client.links.set_routing(link.id, rules=[*routing.rules, rule], variants=routing.variants)
    assert ([each.name for each in again.rules], again.has_password) == (["Evening", "Night"], True)
    assert client.links.get_routing(link.id) == again
    client.links.delete_routing(link.id)
    assert client.links.get_routing(link.id).rules == []
    client.domains.delete(domain.id)
    assert [each.id for each in client.domains.list()] == []


def test_pixels(client: Waypost, website: Website) -> None:
    pixel = client.pixels.create(platform="facebook", name="Spring", pixel_id="1234567890")
    assert client.pixels.get(pixel.id) == pixel
    assert client.pixels.update(pixel.id, name="Summer", access_token=None).name == "Summer"
    assert (client.pixels.results(pixel.id).sent, client.pixels.results(pixel.id).reason) == (0, None)
    assert [each.platform for each in client.pixels.list()] == ["facebook"]
    client.pixels.delete(pixel.id)


def test_webhooks(client: Waypost) -> None:
    webhook = client.webhooks.create(url="https://127.0.0.1/hook", event_types=["link.created"])
    assert webhook.secret.startswith("whsec_")
    assert client.webhooks.get(webhook.id).url == webhook.url
    assert [each.id for each in client.webhooks.list()] == [webhook.id]
    delivery = client.webhooks.send_test(webhook.id)
    assert delivery.event == "webhook.test"
    assert [each.id for each in client.webhooks.list_deliveries(webhook.id, event="webhook.test")] == [delivery.id]
    assert client.webhooks.redeliver(webhook.id, delivery.id).id == delivery.id
    client.webhooks.delete(webhook.id)


def test_qrcodes(client: Waypost, website: Website) -> None:
    link = client.links.create(destination_url=website.url)
    code = client.qrcodes.set_style(link.id, foreground="#1d3557", style="dots")
    assert client.qrcodes.get(link.id) == code
    assert client.qrcodes.image(code.image_url).startswith(b"\x89PNG")
    assert b"<svg" in client.qrcodes.image(code.svg_url)
    with pytest.raises(Forbidden):
        client.qrcodes.image(code.image_url + "0")
    with pytest.raises(ValueError, match="not the URL of an image"):
        client.qrcodes.image(link.id)


def test_account_keys_clicks_and_statistics(service: Service, client: Waypost, website: Website) -> None:
    me = client.account.get()
    assert (me.plan.type, me.limits.requests_per_minute) == ("lifetime", 60)
    assert me.token.id in {key.id for key in client.keys.list()}
    link = client.links.create(destination_url=website.url)
    service.client.get(f"/{link.slug}", headers={"User-Agent": BROWSER, "Authorization": ""})
    eventually(lambda: len(list(client.links.clicks(link.id))) == 1, every=0.5)
    [click] = client.clicks.list(link_id=link.id, from_=datetime.now(UTC) - timedelta(hours=1), browser="Firefox")
    assert (click.link_id, click.device, click.kind) == (link.id, "desktop", "human")
    stats = client.links.stats(link.id, interval="hour", from_=click.created_at - timedelta(hours=2))
    assert (stats.clicks, stats.browsers[0].value, sum(each.clicks for each in stats.series)) == (1, "Firefox", 1)
    assert client.stats.get().top_links[0].clicks >= 1
    assert client.request("GET", "/links", query={"search": link.slug})["meta"]["total"] == 1


async def test_tasks_share_a_client(service: Service, website: Website) -> None:
    async with AsyncWaypost(service.base_url, service.new_key()) as client:
        made = await asyncio.gather(*(client.links.create(destination_url=website.url) for _ in range(8)))
        assert len({each.id for each in made}) == 8
        code = await client.qrcodes.get(made[0].id)
        assert (await client.qrcodes.image(code.image_url)).startswith(b"\x89PNG")
        assert (await client.keys.list())[0].prefix
        pages = [page async for page in client.links.list(per_page=5, search=made[0].slug).pages()]
        assert [page.meta.total for page in pages] == [1]


def test_threads_share_a_client(client: Waypost) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len({each.id for each in pool.map(lambda _: client.account.get(), range(24))}) == 1


def test_processes_share_a_client_after_a_fork(client: Waypost) -> None:
    own = client.account.get().id
    forked = multiprocessing.get_context("fork")
    found = forked.SimpleQueue()
    children = [forked.Process(target=_ask, args=(client, found)) for _ in range(2)]
    for child in children:
        child.start()
    assert {client.account.get().id for _ in range(4)} == {own}
    assert [found.get() for _ in children] == [{own}] * 2
    for child in children:
        child.join()


def _ask(client: Waypost, found: "multiprocessing.SimpleQueue[set[str]]") -> None:
    found.put({client.account.get().id for _ in range(4)})


def test_refuses_wrong_arguments() -> None:
    for base_url in ("go.example.com", "https://go.example.com/api/v1", "ftp://a", "", "https://", "https://u:p@a.b"):
        with pytest.raises(ValueError, match="base_url is the origin"):
            Waypost(base_url, "wp_live_key")
    for key in ("", " ", "a b", "a\nb", "ä"):
        with pytest.raises(ValueError, match="api_key needs"):
            Waypost("https://go.example.com", key)
    with Waypost("https://go.example.com/", "wp_live_key\n") as client:
        assert repr(client) == "Waypost('https://go.example.com/')"
        for id_ in ("", ".", ".."):
            with pytest.raises(ValueError, match="must not be empty"):
                client.links.get(id_)
        with pytest.raises(ValueError, match="time zone"):
            client.links.create(destination_url="https://example.com", expires_at=datetime(2999, 1, 1))
        with pytest.raises(TypeError, match="bytes cannot be sent"):
            client.links.update("id", title=b"title")  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            client.links.create(destinationurl="https://example.com")  # type: ignore[call-arg]
