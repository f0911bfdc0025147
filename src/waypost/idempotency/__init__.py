"""Answers of requests with an `Idempotency-Key`, by account and key. Does not depend on HTTP."""

from waypost.idempotency.service import Answer, Claim, StoredAnswers
from waypost.idempotency.store import delete_expired
