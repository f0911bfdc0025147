"""Counts rows by the time in their ids."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Column, func, select

from waypost.database.transaction import Tx
from waypost.kit.clock import EPOCH
from waypost.kit.ids import first_id


async def count_added(tx: Tx, id_: Column[Any], days: Iterable[int]) -> list[int]:
    """Count the rows that were added on each of the days since 1970. Each count reads a range of the primary key."""
    query = select(func.count()).select_from(id_.table)
    ranges = [query.where(id_ >= _start(day), id_ < _start(day + 1)) for day in days]
    return [(await tx.execute(each)).scalar_one() for each in ranges]


def _start(day: int) -> UUID:
    return first_id(EPOCH + timedelta(days=day))
