"""A value that is loaded when it is needed, and again when it is old."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from waypost.accounts.oidc.errors import ProviderUnavailable
from waypost.kit.clock import Clock

T = TypeVar("T")
_RETRY_AFTER = timedelta(seconds=10)


class Cached(Generic[T]):
    """One load at a time, which everyone waits for. Of a server that does not respond, one request in ten seconds."""

    def __init__(self, load: Callable[[], Awaitable[T]], clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._value: tuple[T, datetime] | None = None
        self._failure: tuple[str, datetime] | None = None
        self._loading: asyncio.Task[T] | None = None

    async def get(self, *, max_age: timedelta) -> T:
        """Return a value of at most this age. Raises ProviderUnavailable."""
        if self._value and self._clock() - self._value[1] < max_age:
            return self._value[0]
        if self._failure and self._clock() - self._failure[1] < _RETRY_AFTER:
            raise ProviderUnavailable(self._failure[0])
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._refresh())
            self._loading.add_done_callback(_retrieve)
        return await asyncio.shield(self._loading)

    async def _refresh(self) -> T:
        try:
            value = await self._load()
        except ProviderUnavailable as error:
            self._failure = error.reason, self._clock()
            raise
        self._value, self._failure = (value, self._clock()), None
        return value


def _retrieve(task: asyncio.Task[T]) -> None:
    """Everyone who waited for the failure may be gone."""
    if not task.cancelled():
        task.exception()
