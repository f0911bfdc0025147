"""An account with many links: each has another combination of fields, and of what belongs to a link."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from random import Random
from uuid import UUID

from accounts.archived import IPHONE
from people import START, Person
from resources.clicks.visited import fill, new_click, new_link
from resources.links.added import add_links

from waypost.database import Database, KeyRing
from waypost.kit.ids import new_id
from waypost.resources import pixels
from waypost.resources.clicks.backends.sql.rebuild import rebuild
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.model import Domain
from waypost.resources.links import Link, account_data, click_counters, routing
from waypost.resources.links.aliases import Alias
from waypost.resources.links.routing import LinkRouting
from waypost.resources.pixels import store as pixel_store
from waypost.resources.pixels.model import Pixel
from waypost.resources.qrcodes import account_data as qrcodes
from waypost.resources.qrcodes.style import CodeStyle

_AT_ONCE = 5_000
_TEXTS = ("", "Frühling", "=1+1", "'quoted\"", "日本語", "\U0001f600", "a" * 255, "back\\slash", "<b>&amp;")


async def add_pixels(db: Database, who: Person) -> list[UUID]:
    found = [Pixel(new_id(), who.account_id, "facebook", name, START, START) for name in ("Spring", "Summer")]
    async with db.write() as tx:
        for pixel in found:
            secret = KeyRing(["a key"]).encrypt(pixels.model.pixels.c.pixel_id, pixel.id, "1234567890")
            await pixel_store.add(tx, pixel, {"pixel_id": secret, "access_token": None})
    return [pixel.id for pixel in found]


async def fill_account(db: Database, who: Person, count: int) -> None:
    domain = Domain.new(who.account_id, "go.example.com", START)
    own_pixels = await add_pixels(db, who)
    async with db.write() as tx:
        await domain_store.add(tx, domain)
    chance, some = Random(7), []
    for start in range(0, count, _AT_ONCE):
        made = [_link(number, who, domain, chance) for number in range(start, min(start + _AT_ONCE, count))]
        await _add(db, who, domain, made, own_pixels, chance)
        some += made[:50]
    visits = [
        new_click(link, START + timedelta(minutes=number), visitor_id=number % 9, target=chance.choice(["", "B"]))
        for number, link in enumerate(some)
    ]
    await fill(db, visits)
    await rebuild(db)
    deleted = [(new_id(), f"deleted-{number}", START, START) for number in range(count // 100)]
    async with db.write() as tx:
        await account_data.add_deleted_links(tx, who.account_id, deleted)


def _link(number: int, who: Person, domain: Domain, chance: Random) -> Link:
    at = START - timedelta(seconds=number)
    return new_link(
        who.account_id,
        slug=f"s{number}",
        destination_url=f"https://example.com/{number}?q=%20{chance.randrange(100)}",
        title=chance.choice(_TEXTS[1:]),
        og_title=chance.choice(_TEXTS) or None,
        og_description=chance.choice([None, "two\nlines"]),
        og_image=chance.choice([None, "https://example.com/image.png"]),
        tags=chance.sample([text for text in _TEXTS if text], chance.randrange(4)),
        utm_params={} if chance.random() < 0.7 else {"utm_source": chance.choice(_TEXTS) or "mail", "utm_term": "x"},
        expires_at=None if chance.random() < 0.9 else START + timedelta(days=chance.randrange(-9, 9)),
        is_enabled=chance.random() < 0.9,
        created_at=at,
        updated_at=at + timedelta(microseconds=chance.randrange(10**12)),
        **({"domain_id": domain.id, "hostname": domain.hostname} if chance.random() < 0.4 else {}),
        **({"click_limit": chance.randrange(1, 9)} if chance.random() < 0.05 else {}),
        **({"starts_at": START + timedelta(days=chance.randrange(-9, 9))} if chance.random() < 0.05 else {}),
    )


async def _add(
    db: Database, who: Person, domain: Domain, made: Sequence[Link], own_pixels: Sequence[UUID], chance: Random
) -> None:
    paths = {link.id: [f"{link.slug}/ü {number}" for number in range(chance.randrange(-3, 3))] for link in made}
    async with db.write() as tx:
        own = {
            id_: [Alias(new_id(), who.account_id, id_, domain.id, domain.hostname, path, START) for path in of_link]
            for id_, of_link in paths.items()
        }
        await add_links(tx, made, own)
        for link in made:
            if chance.random() < 0.1:
                await pixels.attach(tx, link.id, chance.sample(own_pixels, chance.randrange(1, 3)))
        await routing.add_many(tx, _routings(made, chance))
        await qrcodes.add_styles(
            tx, [(link.id, CodeStyle(size=chance.randrange(64, 2048)), START) for link in made if chance.random() < 0.1]
        )
        imported = {link.id: chance.randrange(1, 10**6) for link in made if chance.random() < 0.1}
        await click_counters.set_imported_clicks(tx, who.account_id, imported)


def _routings(made: Sequence[Link], chance: Random) -> Iterator[LinkRouting]:
    for link in made:
        routed = LinkRouting(link.id, link.account_id, link.updated_at, START)
        if chance.random() < 0.1:
            url = f"https://example.com/{chance.randrange(10**6)}"
            routed = LinkRouting(
                *(link.id, link.account_id, link.updated_at, START),
                rules=[{"name": name, "conditions": [IPHONE], "destination_url": url} for name in ("a", "ü\u2028")],
                variants=[{"name": "B", "destination_url": f"{url}/b", "weight": chance.randrange(1, 101)}],
                fallback_url=chance.choice([None, "https://example.com/over"]),
            )
        if routed.destinations or link.starts_at or link.click_limit:
            yield routed
