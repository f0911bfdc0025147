"""Lets concurrent writers of one process share a transaction of SQLite, and with it one wait for the disk.

They run one after the other, each within a savepoint. A writer that waits continues the transaction of the one before;
the last one commits. Nobody returns before that, not even a writer that failed: it may have seen what others wrote.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from waypost.database.transaction import Tx
from waypost.database.write_lock import with_timeout
from waypost.kit.errors import Unavailable

_FAILED = "The changes could not be saved. Try again in a moment."
_MAX_AGE = 0.05  # seconds: then the transaction takes no more writers, and other processes get their turn


@dataclass(slots=True, eq=False)
class _Shared:
    """A transaction, open or about to be committed."""

    tx: Tx
    closing: AsyncExitStack
    began: float
    ended: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Done after the commit. An exception if it failed."""
    writers: int = 0
    """Those who succeeded and wait for the commit."""
    failure: BaseException | None = None
    """Why nothing of it can be committed."""


class SharedCommits:
    def __init__(
        self,
        begin: Callable[[], AbstractAsyncContextManager[Tx]],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`begin`: opens a transaction that is committed at the end of the block."""
        self._begin = begin
        self._monotonic = monotonic
        self._is_busy = False
        self._turns: deque[asyncio.Future[None]] = deque()
        """Of the writers that wait."""
        self._shared: _Shared | None = None
        """The transaction that the next writer continues."""
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        while self._turns and self._turns[0].cancelled():
            self._turns.popleft()
        return len(self._turns)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        """Roll back this writer's changes on an exception. Raises Unavailable after 10 s without a turn."""
        await self._take_turn()
        shared = self._shared
        try:
            if shared is None:
                shared = await self._open()
                begin = _whole
            else:
                begin = _savepoint
            async with begin(shared):
                yield shared.tx
            shared.writers += 1
        finally:
            self._end_turn()
            if shared:
                await asyncio.shield(shared.ended)

    async def _open(self) -> _Shared:
        stack = AsyncExitStack()
        tx = await stack.enter_async_context(self._begin())
        self._shared = _Shared(tx, stack, self._monotonic())
        return self._shared

    async def _take_turn(self) -> None:
        if not self._is_busy:
            self._is_busy = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        try:
            await with_timeout(turn)
        except BaseException:
            if not turn.cancelled():  # it came at the same moment
                self._end_turn()
            raise

    def _end_turn(self) -> None:
        """Let the next writer continue the transaction, or commit it first."""
        shared = self._shared
        if shared is None or (self.waiting and self._takes_more(shared)):
            self._start_next()
            return
        self._shared = None
        task = asyncio.create_task(self._end(shared))  # not by the writer, who may be cancelled
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _takes_more(self, shared: _Shared) -> bool:
        return shared.failure is None and self._monotonic() < shared.began + _MAX_AGE

    def _start_next(self) -> None:
        if self.waiting:
            self._turns.popleft().set_result(None)
        else:
            self._is_busy = False

    async def _end(self, shared: _Shared) -> None:
        failure = shared.failure
        try:
            await shared.closing.__aexit__(type(failure) if failure else None, failure, None)
        except BaseException as error:  # noqa: BLE001  # its writers raise it
            failure = error
        if failure and shared.writers:
            shared.ended.set_exception(failure if isinstance(failure, Exception) else Unavailable(_FAILED))
            shared.ended.exception()  # retrieved: all its writers may be cancelled
        else:
            shared.ended.set_result(None)
        self._start_next()


@asynccontextmanager
async def _whole(shared: _Shared) -> AsyncIterator[None]:
    """The first writer needs no savepoint: what it wrote is all that there is."""
    try:
        yield
    except BaseException as error:
        shared.failure = error
        raise


@asynccontextmanager
async def _savepoint(shared: _Shared) -> AsyncIterator[None]:
    calls = shared.tx.after_commit
    count = len(calls)
    own: BaseException | None = None
    try:
        async with shared.tx.begin_nested():
            try:
                yield
            except BaseException as error:
                own = error
                del calls[count:]
                raise
    except BaseException as error:
        if error is not own:  # after a full disk, SQLite has rolled back everything, and there is no savepoint any more
            shared.failure = error
        raise
