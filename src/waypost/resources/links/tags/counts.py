"""Corrects which tags there are, and the links of each, beside nodes of the version before.

Such a node gives tags to links, and takes them, without a row of the tag. Here a tag that a link names gets its row
within an hour.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, exists, func, or_, select, union_all, update

from waypost import accounts
from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.kit.errors import NotFound
from waypost.resources.links.model import link_tags
from waypost.resources.links.tags import store
from waypost.resources.links.tags.model import tags

INTERVAL = 3_600
"""Seconds between two passes through all accounts."""
_AT_ONCE = 100
_FIRST = UUID(int=0)


class TagCounts:
    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._seen = _FIRST

    async def step(self) -> bool:
        """Correct some tags of the next account. Return whether the pass goes on."""
        async with self._db.read() as tx:
            account = await _next_account(tx, self._seen)
            wrong = await _find_wrong(tx, account) if account else ()
        if account is None:
            self._seen = _FIRST
            return False
        if not wrong or not await self._correct_all(account, wrong) or len(wrong) < _AT_ONCE:
            self._seen = account
        return True

    async def _correct_all(self, account: UUID, names: Sequence[str]) -> bool:
        """Return False if the account is being deleted."""
        try:
            async with self._db.write() as tx:
                for name in sorted(names):  # the order in which others lock tags
                    await self._correct(tx, account, name)
                await accounts.lock_account(tx, account)
        except NotFound:
            return False
        return True

    async def _correct(self, tx: Tx, account: UUID, name: str) -> None:
        is_new = await store.add(tx, account, name, "gray", self._clock())
        await store.lock(tx, account, [name])
        count = await store.count_tagged(tx, account, name)
        if is_new and not count:  # no link has it any more
            await store.delete_unused(tx, account, name)
        own = tags.c.account_id == account, tags.c.name == name
        await tx.execute(update(tags).where(*own).values(links_count=count))


async def _next_account(tx: Tx, after: UUID) -> UUID | None:
    """Return the next account that has tags, or links with some."""
    columns = link_tags.c.account_id, tags.c.account_id
    found = [await tx.scalar(select(each).where(each > after).order_by(each).limit(1)) for each in columns]
    return min((each for each in found if each), default=None)


async def _find_wrong(tx: Tx, account: UUID) -> Sequence[str]:
    """Return some names of tags that have no row, or another count."""
    named = link_tags.c.account_id == account
    name: ColumnElement[str] = tags.c.name
    if tx.dialect.name == "postgresql":  # the two columns sort in different ways
        name = name.collate("default")
    own = select(name.label("name"), tags.c.links_count).where(tags.c.account_id == account).subquery()
    counted = select(link_tags.c.tag, func.count().label("links")).where(named).group_by(link_tags.c.tag).subquery()
    differs = or_(own.c.links_count.is_(None), own.c.links_count != counted.c.links)
    wrong = select(counted.c.tag).outerjoin(own, own.c.name == counted.c.tag).where(differs)
    has_links = exists().where(named, link_tags.c.tag == own.c.name)
    unused = select(own.c.name).where(own.c.links_count != 0, ~has_links)
    return (await tx.scalars(union_all(wrong, unused).limit(_AT_ONCE))).all()
