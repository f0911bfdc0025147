"""From a row to a click."""

from typing import Any

from sqlalchemy import Column, Row

from waypost.kit.clock import QUARTER, microseconds
from waypost.resources.clicks.model import Click, clicks

_NOT_STORED = {"at", "quarter", "pixels", "user_agent"}

COLUMNS: tuple[Column[Any], ...] = (
    clicks.c.created_at,
    *(clicks.c[name] for name in Click.__dataclass_fields__ if name not in _NOT_STORED),
)
"""What `click_of` needs of a row, in this order; more may follow."""


def click_of(row: Row[*tuple[Any, ...]]) -> Click:
    created_at, id_, account_id, link_id, *rest = row[: len(COLUMNS)]
    at = microseconds(created_at)
    return Click(id_.bytes, account_id.bytes, link_id.bytes, at, rest[0], at // QUARTER % 96, *rest[1:])
