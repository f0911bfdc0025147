"""Tells the accounts' webhooks of the clicks of a batch, in the transaction that stores them."""

from collections.abc import Sequence
from uuid import UUID

from waypost.database import Tx
from waypost.kit.clock import from_microseconds
from waypost.resources import webhooks
from waypost.resources.clicks.model import HUMAN, Click
from waypost.resources.clicks.schemas import delivered


async def tell(tx: Tx, clicks: Sequence[Click]) -> None:
    """Of visits that count; robots and prefetches are nobody's click."""
    accounts = {click.account_id for click in clicks}
    listening = await webhooks.listeners(tx, "link.clicked", {UUID(bytes=account) for account in accounts})
    if listening:
        told = {account.bytes for account in listening}
        events = [_event(click) for click in clicks if click.kind == HUMAN and click.account_id in told]
        await webhooks.record_all(tx, events, listening)


def _event(click: Click) -> webhooks.Event:
    account, source = UUID(bytes=click.account_id), UUID(bytes=click.id)
    return webhooks.Event("link.clicked", account, source, from_microseconds(click.at), delivered(click))
