"""Hostile URLs of receivers: each is refused on `url`, and nobody private hears of it."""

from collections.abc import Sequence

import pytest
from hostile_urls import HOSTILE_URLS
from people import Person, new_key
from resources.webhooks.env import NEW, Env, faults
from servers import canary

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def spellings(port: int) -> list[str]:
    hosts = "127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 [::1] [::ffff:127.0.0.1] localhost a@127.0.0.1 /127.0.0.1"
    reported = [*HOSTILE_URLS, *(f"http://{host}:{port}/" for host in hosts.split())]
    return [*reported, *(url.replace("http", "https", 1) for url in reported if "http" in url and "https" not in url)]


async def keys(env: Env, requests: int) -> Sequence[Person]:
    """Enough of them that no budget is spent."""
    return [await new_key(env.db, env.alice.account_id) for _ in range(requests // 50 + 1)]


async def test_create(env: Env) -> None:
    async with canary() as forbidden:
        urls = spellings(forbidden.port)
        people = await keys(env, len(urls))
        for number, url in enumerate(urls):
            assert faults(await env.post(NEW | {"url": url}, people[number // 50])).keys() == {"url"}, url
        assert forbidden.connections == 0
    assert (await env.get()).json()["meta"]["total"] == 0
