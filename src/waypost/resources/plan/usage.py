"""What an account has of what is limited."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from waypost.accounts.keys import store as keys
from waypost.accounts.keys.pages import MAX_USABLE_KEYS
from waypost.context import Context
from waypost.resources.domains import service as domains
from waypost.resources.domains import store as domain_store
from waypost.resources.pixels import service as pixels
from waypost.resources.pixels import store as pixel_store
from waypost.resources.webhooks import service as webhooks
from waypost.resources.webhooks import store as webhook_store


class Usage(NamedTuple):
    name: str
    used: int
    limit: int
    note: str = ""


async def count_usage(context: Context, account_id: UUID) -> Sequence[Usage]:
    async with context.db.read() as tx:
        of_account, unverified = await domain_store.count(tx, account_id)
        note = f"{unverified} of at most {domains.MAX_UNVERIFIED_DOMAINS} unverified"
        return [
            Usage("Domains", of_account, domains.MAX_DOMAINS, note),
            Usage("Pixels", await pixel_store.count(tx, account_id), pixels.MAX_PIXELS),
            Usage("Webhooks", await webhook_store.count(tx, account_id), webhooks.MAX_WEBHOOKS),
            Usage("API keys", await keys.count_usable_keys(tx, account_id, context.clock()), MAX_USABLE_KEYS),
        ]
