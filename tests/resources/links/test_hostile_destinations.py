"""Hostile destinations through create and change: each is refused on its field, and nobody private hears of it."""

from collections.abc import AsyncIterator, Sequence

import pytest
from hostile_urls import HOSTILE_URLS
from people import Person, new_key
from resources.links.env import Env, faults
from servers import Receiver, canary

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
async def forbidden() -> AsyncIterator[Receiver]:
    async with canary() as receiver:
        yield receiver


def spellings(port: int) -> list[str]:
    hosts = "127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 [::1] [::ffff:127.0.0.1] localhost a@127.0.0.1 /127.0.0.1"
    return [*HOSTILE_URLS, *(f"http://{host}:{port}/" for host in hosts.split())]


async def keys(env: Env, requests: int) -> Sequence[Person]:
    """Enough of them that no budget is spent."""
    return [await new_key(env.deps.db, env.alice.account_id) for _ in range(requests // 50 + 1)]


async def test_create_refuses_hostile_destinations(env: Env, forbidden: Receiver) -> None:
    urls = spellings(forbidden.port)
    people = await keys(env, len(urls))
    for number, url in enumerate(urls):
        answer = await env.post({"destination_url": url}, people[number // 50])
        assert faults(answer).keys() == {"destination_url"}, url
    assert (forbidden.connections, env.site.seen) == (0, [])
    assert (await env.browse()).json()["meta"]["total"] == 0


async def test_change_refuses_hostile_destinations(env: Env, forbidden: Receiver) -> None:
    link = await env.make()
    urls = spellings(forbidden.port)
    people = await keys(env, len(urls))
    for number, url in enumerate(urls):
        answer = await env.patch(link, {"destination_url": url}, people[number // 50])
        assert faults(answer).keys() == {"destination_url"}, url
    assert forbidden.connections == 0
    assert (await env.find(link)).json()["data"] == link
