"""Seeds databases with the same rows as the service's own functions, but faster: many rows per transaction.

Slugs are scattered over the rows, like random slugs. No link has tags, an expiry or UTM parameters.
"""

import sys
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import insert, update

from waypost.accounts import SCOPES, create_account, hash_password
from waypost.accounts.keys import format as key_format
from waypost.accounts.keys import store as key_store
from waypost.accounts.model import ApiKey, accounts
from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.resources.links.model import Link, link_clicks, links, slugs

_BATCH = 20_000
_SCATTER = 611_953  # prime, so that it yields each number below a power of ten once
_FIELDS = [
    field.name for field in fields(Link) if field.name not in {"clicks", "pixel_ids", "hostname", "disabled_reason"}
]  # kept elsewhere


@dataclass(frozen=True)
class Store:
    path: Path
    account: UUID
    links: int

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"


def slug_of(number: int) -> str:
    return f"b{number:06d}"


def destination_of(number: int) -> str:
    return f"https://www.example.com/landing/{slug_of(number)}?ref=newsletter&edition=spring"


async def new_store(path: Path, count: int) -> Store:
    db = Database(f"sqlite:///{path}")
    await migrate(db)
    account = await new_account(db, "seed")
    await add_links(db, account, count)
    await db.close()
    return Store(path, account, count)


async def new_account(db: Database, name: str, *, password: str = "") -> UUID:
    email, hashed = f"{name}@example.com", await hash_password(password) if password else None
    made = await create_account(
        db, email=email, name=name, plan="lifetime", now=now(), trial_days=0, password_hash=hashed
    )
    return made.id


async def add_links(db: Database, account: UUID, count: int, *, first: int = 0) -> list[UUID]:
    """Return the ids, oldest first. `count` is a power of ten, or half of one. Slugs are numbered from `first`."""
    made, begin = [], now() - timedelta(seconds=count)
    for start in range(0, count, _BATCH):
        indexes = range(start, min(start + _BATCH, count))
        numbers = [(first + index * _SCATTER % count, begin + timedelta(seconds=index)) for index in indexes]
        batch = [_link(account, number, at) for number, at in numbers]
        made += [link.id for link in batch]
        async with db.write() as tx:
            owned = [{"slug": link.slug, "account_id": account, "link_id": link.id} for link in batch]
            await tx.execute(insert(slugs), owned)
            await tx.execute(insert(links), [_row(link) for link in batch])
            counters = [{"link_id": link.id, "account_id": account, "clicks": 0} for link in batch]
            await tx.execute(insert(link_clicks), counters)
            counted = accounts.c.links_count + len(batch)
            await tx.execute(update(accounts).where(accounts.c.id == account).values(links_count=counted))
        if count > _BATCH:
            say(f"{start + len(batch):,} of {count:,} links seeded")
    return made


async def add_keys(db: Database, account: UUID, count: int) -> list[str]:
    """Return the texts of new keys with all scopes."""
    texts = [key_format.generate() for _ in range(count)]
    async with db.write() as tx:
        for text in texts:
            prefix = text[: key_format.PREFIX_LENGTH]
            key = ApiKey(new_id(), account, "bench", prefix, SCOPES, None, None, None, None, now())
            await key_store.add_key(tx, key, key_format.digest(text))
    return texts


def say(progress: str) -> None:
    sys.stderr.write(f"  {progress}\n")


def _link(account: UUID, number: int, at: datetime) -> Link:
    return Link(
        id=new_id(),
        account_id=account,
        slug=slug_of(number),
        domain_id=None,
        hostname=None,
        destination_url=destination_of(number),
        title=f"Landing page {number} of the spring edition",
        og_title=f"Landing page {number}",
        og_description="The page's own description, in a sentence of the usual length.",
        og_image=None,
        og_image_file_name=None,
        og_image_bytes=0,
        utm_params={},
        tags=[],
        expires_at=None,
        pixel_ids=[],
        is_enabled=True,
        clicks=0,
        created_at=at,
        updated_at=at,
    )


def _row(link: Link) -> dict[str, Any]:
    return {name: getattr(link, name) for name in _FIELDS} | {"search_text": link.search_text}
