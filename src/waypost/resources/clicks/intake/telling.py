"""Tells the accounts' webhooks of the clicks of a batch, in the transaction that stores them."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from waypost.database import Database, Tx
from waypost.kit.clock import from_microseconds
from waypost.resources import webhooks
from waypost.resources.clicks.model import HUMAN, Click
from waypost.resources.clicks.schemas import delivered

_EVENT = "link.clicked"


async def audience(db: Database, accounts: Collection[bytes]) -> Mapping[bytes, int]:
    """How many deliveries a click of each account makes; accounts of which nobody hears are missing."""
    async with db.read() as tx:
        found = await webhooks.listeners(tx, _EVENT, _ids(accounts), hold=False)
    return {account.bytes: len(listening) for account, listening in found.items()}


async def tell(tx: Tx, clicks: Sequence[Click]) -> None:
    """Of visits that count; robots and prefetches are nobody's click."""
    listening = await webhooks.listeners(tx, _EVENT, _ids({click.account_id for click in clicks}))
    if listening:
        told = {account.bytes for account in listening}
        events = (_event(click) for click in clicks if click.kind == HUMAN and click.account_id in told)
        await webhooks.record_all(tx, events, listening)


def _ids(accounts: Collection[bytes]) -> set[UUID]:
    return {UUID(bytes=account) for account in accounts}


def _event(click: Click) -> webhooks.Event:
    account, source = UUID(bytes=click.account_id), UUID(bytes=click.id)
    return webhooks.Event(_EVENT, account, source, from_microseconds(click.at), delivered(click))
