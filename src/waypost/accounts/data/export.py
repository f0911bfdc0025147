"""Downloads of exports in the dashboard: one per account, and few at the same time."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from functools import partial
from uuid import UUID

from starlette.responses import Response

from waypost.accounts import Account
from waypost.accounts.data.archive.contents import write_archive
from waypost.context import Context
from waypost.kit.errors import Invalid
from waypost.kit.fair_queue import FairQueue
from waypost.resource import Resource
from waypost.web.streaming import StreamedResponse

RUNNING = "An export is already running. Wait until it has finished."
_STALL_TIMEOUT = 60.0
"""Seconds after which a download that is not read is aborted."""
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
        self._accounts.add(account.id)
        name = f"waypost-{context.clock():%Y-%m-%d}.zip"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
        ended = partial(self._accounts.discard, account.id)
        chunks = archive(context, resources, account, self._queue)
        return StreamedResponse(chunks, "application/zip", ended, headers=headers, read_timeout=_STALL_TIMEOUT)


async def archive(
    context: Context, resources: Sequence[Resource], account: Account, queue: FairQueue
) -> AsyncIterator[bytes]:
    """Yield chunks. Each waits for a slot of the queue, which is free while the client reads the chunk."""
    async with aclosing(write_archive(context, resources, account)) as chunks:
        while True:
            async with queue.slot(account.id):
                chunk = await anext(chunks, None)
            if chunk is None:
                return
            yield chunk
