"""Keeps the last write transaction of a request open until its answer is known, so that both are committed together.

Otherwise a process that is killed between the two would leave a change whose request seems never to have run.
"""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from waypost.database.async_engine import AsyncConnection


class HeldCommit:
    """The open transaction of one task."""

    def __init__(self, begin: Callable[[], AbstractAsyncContextManager[AsyncConnection]]) -> None:
        self._begin = begin
        self._tx: AsyncConnection | None = None
        self._closing = AsyncExitStack()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction that stays open at the end of the block; an earlier one is committed first."""
        await self.commit()
        async with AsyncExitStack() as stack:
            tx = await stack.enter_async_context(self._begin())
            yield tx
            self._tx, self._closing = tx, stack.pop_all()

    @asynccontextmanager
    async def finish(self) -> AsyncIterator[AsyncConnection]:
        """Return the open transaction, or a new one if there is none, and commit it at the end of the block."""
        if self._tx is None:
            async with self.write():
                pass
        assert self._tx is not None  # noqa: S101  # see above
        try:
            yield self._tx
        except BaseException:
            await self.roll_back()
            raise
        await self.commit()

    async def roll_back(self) -> None:
        error = _RolledBack()
        with contextlib.suppress(_RolledBack):
            await self._open_stack().__aexit__(_RolledBack, error, None)

    async def commit(self) -> None:
        await self._open_stack().aclose()

    def _open_stack(self) -> AsyncExitStack:
        """Return what closes the transaction, and forget it."""
        closing, self._tx, self._closing = self._closing, None, AsyncExitStack()
        return closing


class _RolledBack(Exception):
    """Ends a transaction without a commit."""
