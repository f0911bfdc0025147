"""Downloads of exports in the dashboard: one per account, and few at the same time."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from uuid import UUID

from starlette.responses import Response

from waypost import accounts
from waypost.accounts import Account
from waypost.accounts.data.archive.contents import write_archive
from waypost.context import Context
from waypost.kit.errors import Invalid
from waypost.kit.fair_queue import FairQueue
from waypost.resource import Resource
from waypost.resources import links
from waypost.resources.clicks.export import clicks_as_csv
from waypost.web.streaming import StreamedResponse

RUNNING = "An export is already running. Wait until it has finished."
_STALL_TIMEOUT = 60.0
"""Seconds after which a download that is not read is aborted."""
_BYTES_OF_LINK, _BYTES_OF_CLICK, _CLICKS_OF_SECOND = 500, 70, 30_000
"""In an archive. Of the clicks of `waypost demo`."""
_MAX_CONCURRENT = 2
"""Exports that prepare a chunk at the same time."""


class Downloads:
    """Downloads of this process, one per account."""

    def __init__(self) -> None:
        self._accounts: set[UUID] = set()
        self._queue = FairQueue(_MAX_CONCURRENT, per_key=1, max_waiting=1_024, timeout=None)

    def refuse_second(self, account: Account) -> None:
        """Raise Invalid while the account has an export that has not finished."""
        if account.id in self._accounts:
            raise Invalid({"body": [RUNNING]})

    def start(self, context: Context, resources: Sequence[Resource], account: Account) -> Response:
        chunks = write_archive(context, resources, account)
        return self._send(context, account, chunks, "waypost-{:%Y-%m-%d}.zip", "application/zip")

    def start_clicks(self, context: Context, account: Account) -> Response:
        chunks = clicks_as_csv(context, account, context.clock())
        return self._send(context, account, chunks, "clicks-{:%Y-%m-%d}.csv", "text/csv; charset=utf-8")

    def _send(
        self, context: Context, account: Account, chunks: AsyncGenerator[bytes], name: str, media_type: str
    ) -> Response:
        self._accounts.add(account.id)
        disposition = f'attachment; filename="{name.format(context.clock())}"'
        headers = {"Content-Disposition": disposition, "Cache-Control": "private, no-store"}
        ended = partial(self._accounts.discard, account.id)
        queued = in_turns(chunks, account, self._queue)
        return StreamedResponse(queued, media_type, ended, headers=headers, read_timeout=_STALL_TIMEOUT)


async def count(context: Context, account: Account) -> Mapping[str, float]:
    """Return how much there is to export, and about how large that is and how long it takes."""
    async with context.db.read_for(account.id) as tx:
        of_links, of_clicks = await accounts.count_links(tx, account.id), await links.count_clicks(tx, account.id)
    size = of_links * _BYTES_OF_LINK + of_clicks * _BYTES_OF_CLICK
    return {"links": of_links, "clicks": of_clicks, "size": size, "seconds": of_clicks / _CLICKS_OF_SECOND}


async def in_turns(source: AsyncGenerator[bytes], account: Account, queue: FairQueue) -> AsyncIterator[bytes]:
    """Yield chunks. Each waits for a slot of the queue, which is free while the client reads the chunk."""
    async with aclosing(source) as chunks:
        while True:
            async with queue.slot(account.id):
                chunk = await anext(chunks, None)
            if chunk is None:
                return
            yield chunk
