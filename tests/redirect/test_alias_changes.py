"""An alias is as current as a slug, whatever changes between any two look-ups of a visit, in any order."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count, product
from random import Random
from urllib.parse import quote, unquote
from uuid import UUID

import pytest
from wire import HOST, in_python

from waypost.redirect import (
    AliasTable,
    ChangeFeed,
    HostTable,
    Route,
    RouteTable,
    alias_change,
    disabled_host,
    host_change,
    new_alias,
    new_host,
    new_route,
    pixel_change,
)
from waypost.redirect.route import MISSING, host_of

HOSTS = ["one.test", "two.test"]
SLUGS = ["s", "t", "a", "b"]
"""Aliases may have the path of a slug, too."""
PATHS = ["a", "a/b", "%61", quote("😀")]
"""As sent."""
PIXEL = UUID(int=5)


@dataclass
class Link:
    id: UUID
    version: int
    host: str


@dataclass
class World:
    """The truth, what redirects know of it, and what happens to it in the middle of their look-ups."""

    feed: ChangeFeed
    capacity: int
    is_embedded: bool
    links: dict[str, Link] = field(default_factory=dict)
    aliases: dict[tuple[str, str], UUID] = field(default_factory=dict)
    served: set[str] = field(default_factory=lambda: set(HOSTS))
    pixel_version: int = 0
    missed: list[str] | None = None
    """Changes that the feed lost."""
    next_id: Callable[[], int] = field(default_factory=lambda: count(1).__next__)
    event: Callable[[], None] | None = None
    lookups: int = 0
    """Until the event happens."""

    def __post_init__(self) -> None:
        def source(find: Callable[[bytes], Route | None]) -> "Source":
            return Source(self, find)

        self.hosts = HostTable(source(self.host_of), self.feed, capacity=1_000)
        self.routes = RouteTable(source(self.route_of), self.feed, capacity=self.capacity, shared_host=HOST)
        self.of_aliases = AliasTable(source(self.alias_of), self.feed, self.hosts, self.routes)
        self.tables = [self.routes, self.of_aliases, self.hosts]
        for table in self.tables:
            self._count_lookups(table)

    def _count_lookups(self, table: RouteTable) -> None:
        find = table.find

        def counted(key: bytes) -> Route | None:
            found = find(key)
            self.count_lookup()
            return found

        table.find = counted

    def count_lookup(self) -> None:
        self.lookups -= 1
        if self.lookups < 0:
            self.happen()

    def happen(self) -> None:
        event, self.event = self.event, None
        if event:
            event()

    # The truth

    def route_of(self, slug: bytes) -> Route | None:
        link = self.links.get(slug.decode(errors="replace"))
        if link is None:
            return None
        host = link.host.encode()
        host = host if link.host in self.served or host == HOST else disabled_host(host)
        url = f"https://example.com/{link.version}"
        return new_route(host, url, link.id, pixels=[(PIXEL, "facebook", str(self.pixel_version))])

    def host_of(self, host: bytes) -> Route | None:
        name = host.decode()
        has_aliases = any(of_host == name for of_host, _ in self.aliases)
        return new_host(None, None, has_aliases=has_aliases) if name in self.served else None

    def alias_of(self, key: bytes) -> Route | None:
        found = [address for address in self.aliases if alias_change(*address).encode() == key]
        host = found[0][0] if found else ""
        slugs = [slug for slug, link in self.links.items() if found and link.id == self.aliases[found[0]]]
        return new_alias(host.encode(), slugs[0], self.links[slugs[0]].id) if slugs and host in self.served else None

    def expected(self, host: str, path: str) -> Route:
        route = self.route_of(unquote(path).encode())
        if route and host_of(route) == host.encode():
            return route
        alias = self.alias_of(alias_change(host, unquote(path)).encode())
        return (alias and self.route_of(alias[2])) or MISSING

    # A visit, as the protocol and the ASGI entry point do it

    async def visit(self, host: str, path: str) -> Route:
        host_, sent = host.encode(), path.encode()
        route = MISSING if b"/" in sent else self.routes.find(sent)
        if route is not None and host_of(route) != host_:
            route = self.of_aliases.find_link(host_, sent)
        if route is not None:
            return route
        decoded = unquote(path).encode()
        route = await self.routes.load(decoded)
        return route if host_of(route) == host_ else await self.of_aliases.load_link(host_, decoded)

    # What may happen

    def publish(self, *changes: str) -> None:
        if self.missed is None:
            self.feed.publish(changes)
        else:
            self.missed.extend(changes)

    def create_link(self, n: int, m: int) -> None:
        if SLUGS[n] not in self.links:
            self.links[SLUGS[n]] = Link(UUID(int=self.next_id()), 0, [*HOSTS, HOSTS[0], HOST.decode()][m])
            self.publish(SLUGS[n])

    def change_link(self, n: int, _: int) -> None:
        if link := self.links.get(SLUGS[n]):
            self.links[SLUGS[n]] = Link(link.id, self.next_id(), link.host)
            self.publish(SLUGS[n])

    def delete_link(self, n: int, _: int) -> None:
        if self.links.pop(SLUGS[n], None):
            self.publish(SLUGS[n])

    def rename_link(self, n: int, m: int) -> None:
        if SLUGS[n] in self.links and SLUGS[m] not in self.links:
            self.links[SLUGS[m]] = self.links.pop(SLUGS[n])
            self.publish(SLUGS[n], SLUGS[m])

    def add_alias(self, n: int, m: int) -> None:
        address = HOSTS[m % 2], unquote(PATHS[n])
        link = next(iter(self.links.values()), None)
        if link and address not in self.aliases:
            self.aliases[address] = link.id
            self.publish(address[0])

    def delete_alias(self, n: int, _: int) -> None:
        if address := next(iter(list(self.aliases)[n % 2 :]), None):
            del self.aliases[address]
            self.publish(alias_change(*address))

    def move_alias(self, n: int, m: int) -> None:
        address, link = next(iter(list(self.aliases)[n % 2 :]), None), self.links.get(SLUGS[m])
        if address and link:
            self.aliases[address] = link.id
            self.publish(alias_change(*address), address[0])

    def serve_or_disable_host(self, n: int, _: int) -> None:
        self.served ^= {HOSTS[n % 2]}
        self.publish(host_change(HOSTS[n % 2]))

    def change_pixel(self, _n: int, _m: int) -> None:
        self.pixel_version += 1
        self.publish(pixel_change(PIXEL))

    def overflow_feed(self, _n: int, _m: int) -> None:
        """The changes since the last look-up are more than the feed holds."""
        self.served ^= {HOSTS[0]}
        self.feed.publish(f"{n:0250}" for n in range(1_100))

    def lose_feed(self, _n: int, _m: int) -> None:
        if not self.is_embedded and self.missed is None:
            self.missed = []
            for table in self.tables:
                table.mark_feed_lost()

    def restore_feed(self, n: int, _: int) -> None:
        """The changes were late, or are lost."""
        missed, self.missed = self.missed, None
        for table in self.tables if missed is not None else ():
            if n % 2:
                table.mark_feed_restored()
                continue
            for change in missed:
                table.invalidate(change.encode())
            table.mark_feed_complete()


EVENTS = [
    World.create_link,
    World.change_link,
    World.delete_link,
    World.rename_link,
    World.add_alias,
    World.delete_alias,
    World.move_alias,
    World.serve_or_disable_host,
    World.change_pixel,
    World.overflow_feed,
    World.lose_feed,
    World.restore_feed,
]


@dataclass
class Source:
    world: World
    read: Callable[[bytes], Route | None]

    @property
    def find_sync(self) -> Callable[[bytes], Route | None] | None:
        return self.find_now if self.world.is_embedded else None

    def find_now(self, key: bytes) -> Route | None:
        found = self.read(key)
        self.world.count_lookup()
        return found

    async def find(self, key: bytes) -> Route | None:
        found = self.find_now(key)
        await asyncio.sleep(0)
        return found


def steps_of(random: Random) -> Iterator[tuple[Callable[[World, int, int], None], int, int, int, tuple[str, str]]]:
    """Yield (event, its two numbers, look-ups before it, what is visited)."""
    for _ in range(12):
        event, n, m = random.choice(EVENTS), random.randrange(4), random.randrange(4)
        yield event, n, m, random.randrange(6), (random.choice(HOSTS), random.choice(PATHS))


@in_python
@pytest.mark.parametrize("is_embedded", [True, False])
async def test_the_next_visit_follows_any_change(is_embedded: bool, feed: ChangeFeed) -> None:
    for seed in range(100):
        random = Random(seed)
        world = World(feed, random.choice([512, 100_000]), is_embedded)
        world.create_link(0, 3)
        for n, m in product(range(2), range(2)):
            world.add_alias(n, m)
        for event, n, m, lookups, visited in steps_of(random):
            if random.randrange(2):
                world.publish(pixel_change(UUID(int=6)))  # the visit has to look up several keys
            world.event, world.lookups = partial(event, world, n, m), lookups
            await world.visit(*visited)
            world.happen()
            for host, path in 2 * list(product(HOSTS, PATHS)):
                is_current = await world.visit(host, path) == world.expected(host, path)
                assert is_current, (seed, event.__name__, n, m, lookups, visited, host, path)
