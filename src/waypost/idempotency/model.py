"""The table of idempotency keys, and what a row means."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Column, ForeignKey, Index, Integer, LargeBinary, SmallInteger, String, Table, UniqueConstraint

from waypost.database import Encrypted, Id, Instant, metadata

KEPT_FOR = timedelta(hours=24)
MAX_KEY = 255
"""Characters."""

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("id", Id, primary_key=True),  # of the attempt: another one that takes the key over changes it
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("key", String(MAX_KEY), nullable=False),
    Column("request_id", Id, nullable=False),  # the same for all attempts of a request
    Column("digest", LargeBinary, nullable=False),  # of path and body
    Column("lease_until", Instant),  # null once the request is answered
    Column("status", SmallInteger),
    Column("answer", Encrypted),  # it may contain a secret
    Column("answer_bytes", Integer, nullable=False, server_default="0"),
    Column("created_at", Instant, nullable=False, index=True),
    UniqueConstraint("account_id", "key"),
)
Index("ix_idempotency_keys_share", idempotency_keys.c.account_id, idempotency_keys.c.answer_bytes)


@dataclass(frozen=True, slots=True)
class KeyRow:
    id: UUID
    request_id: UUID
    digest: bytes
    lease_until: datetime | None
    created_at: datetime

    def is_free(self, now: datetime) -> bool:
        """Whether another request may use the key: it has expired, or the process that had it is gone."""
        is_abandoned = self.lease_until is not None and self.lease_until <= now
        return is_abandoned or self.created_at <= now - KEPT_FOR

    def is_same_request(self, later: "KeyRow") -> bool:
        """Whether the later row is another attempt of this request, whose process is gone."""
        return self.digest == later.digest and self.created_at > later.created_at - KEPT_FOR
