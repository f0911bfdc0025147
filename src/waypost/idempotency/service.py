"""Claims an idempotency key for one attempt, and stores the answer in the transaction of what the request changed.

The attempt has the key for a limited time and renews it. When its process is gone, the next request takes the key over;
an attempt that lost its key that way cannot commit any more.
"""

import asyncio
import base64
import contextlib
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from waypost.database import Database, KeyRing, Tx
from waypost.idempotency import store
from waypost.idempotency.model import KeyRow, idempotency_keys
from waypost.kit.clock import Clock
from waypost.kit.errors import InProgress, Invalid, Unavailable
from waypost.kit.ids import new_id
from waypost.worker.loop import cancel

HEADER = "Idempotency-Key"
LEASE = timedelta(seconds=10)
_RENEW_INTERVAL = 3.0  # seconds
MAX_KEYS = 100_000
MAX_BYTES = 256 << 20
"""Per account in 24 hours."""
MAX_ANSWER = 8 << 20
"""Bytes. Larger than the answer to any body that fits into a request."""
OTHER_REQUEST = "This key was used for another request in the last 24 hours: use a new key for each request."
TOO_MANY = "This account has used too many keys in the last 24 hours. Send the request without the header, or wait."


class Answer(NamedTuple):
    status: int
    body: bytes


class Claim:
    """The attempt that has the key. It ends with `save` or `release`."""

    def __init__(self, db: Database, key_ring: KeyRing, clock: Clock, attempt: KeyRow) -> None:
        self.request_id = attempt.request_id
        self._db = db
        self._key_ring = key_ring
        self._clock = clock
        self._id = attempt.id
        self._renewing = asyncio.create_task(self._renew())
        self._tx: Tx | None = None
        self._ending = contextlib.AsyncExitStack()
        """Ends the transaction: commits or rolls back."""

    @contextlib.asynccontextmanager
    async def commit(self, *around: contextlib.AbstractAsyncContextManager[None]) -> AsyncIterator[Tx]:
        """Open the transaction that gets the answer: it stays open after the block, and `around` with it.

        Commits an earlier one.
        """
        await self._ending.aclose()
        self._tx = None
        async with contextlib.AsyncExitStack() as stack:
            for context in around:
                await stack.enter_async_context(context)
            tx = await stack.enter_async_context(self._db.write())
            yield tx
            self._tx, self._ending = tx, stack.pop_all()

    async def save(self, answer: Answer) -> None:
        """Commit the answer with the open transaction, or alone if there is none.

        Raises InProgress if the key is lost, and Unavailable. Then nothing of the transaction is committed.
        """
        if len(answer.body) > MAX_ANSWER:
            raise ValueError(f"an answer of {len(answer.body):,} bytes cannot be stored")
        text = base64.b64encode(zlib.compress(answer.body, 1)).decode()
        ciphertext = self._key_ring.encrypt(idempotency_keys.c.answer, self._id, text)
        if self._tx is None:
            async with self.commit():
                pass
        async with self._ending:
            assert self._tx is not None  # noqa: S101  # see above
            if not await store.save_answer(self._tx, self._id, answer.status, ciphertext):
                raise InProgress
        await cancel([self._renewing])

    async def release(self) -> None:
        """Roll back the open transaction, and let the next request use the key."""
        with contextlib.suppress(_Released):
            async with self._ending:
                raise _Released
        await cancel([self._renewing])
        try:
            async with self._db.write() as tx:
                await store.remove(tx, self._id)
        except Unavailable:
            return  # the lease ends

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_RENEW_INTERVAL)
            try:
                async with self._db.write() as tx:
                    await store.renew(tx, self._id, self._clock() + LEASE)
            except Unavailable:
                continue


class _Released(Exception):
    """Ends a transaction without a commit."""


@dataclass(frozen=True, slots=True)
class StoredAnswers:
    db: Database
    key_ring: KeyRing
    clock: Clock

    async def claim(self, account: UUID, key: str, digest: bytes) -> Claim | Answer:
        """Return the stored answer, or a claim for the caller to run the request.

        `digest`: of what must be equal in all requests with the key. Raises Invalid if it differs, or if the account
        has too many keys; InProgress while another attempt runs; Unavailable.
        """
        now = self.clock()
        async with self.db.point_read() as tx:
            row = await store.find(tx, account, key)
        if row and not row.is_free(now):
            _require_same(row, digest)
            return await self._read(row)
        if row is None:
            await self._check_share(account)
        attempt = KeyRow(new_id(), new_id(), digest, now + LEASE, now)
        async with self.db.write() as tx:
            if not await store.add(tx, account, key, attempt):
                row = await store.lock(tx, account, key)
                if row is None or not row.is_free(now):  # another attempt was faster
                    raise InProgress
                if row.is_same_request(attempt):
                    attempt = replace(attempt, request_id=row.request_id)
                await store.replace(tx, row.id, attempt)
        return Claim(self.db, self.key_ring, self.clock, attempt)

    async def _read(self, row: KeyRow) -> Answer:
        async with self.db.read() as tx:
            stored = await store.read_answer(tx, row.id)
        if stored is None:  # the request has failed in the meantime, and the key is free
            raise InProgress
        status, answer = stored
        text = self.key_ring.decrypt(idempotency_keys.c.answer, row.id, answer)
        return Answer(status, zlib.decompress(base64.b64decode(text)))

    async def _check_share(self, account: UUID) -> None:
        async with self.db.read_for(account) as tx:
            count, size = await store.measure(tx, account)
        if count >= MAX_KEYS or size >= MAX_BYTES:
            raise Invalid({HEADER: [TOO_MANY]})


def _require_same(row: KeyRow, digest: bytes) -> None:
    if row.digest != digest:
        raise Invalid({HEADER: [OTHER_REQUEST]})
    if row.lease_until is not None:
        raise InProgress
