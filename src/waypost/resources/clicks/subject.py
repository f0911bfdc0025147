"""Whose clicks are asked for: a link's, or an account's over all links it has or ever had."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement

from waypost.resources.clicks.model import DIMENSIONS, Dimension, clicks


@dataclass(frozen=True, slots=True)
class Subject:
    id: UUID
    is_account: bool = False

    @property
    def clicks(self) -> ColumnElement[bool]:
        return (clicks.c.account_id if self.is_account else clicks.c.link_id) == self.id

    @property
    def dimensions(self) -> list[Dimension]:
        return [name for name in DIMENSIONS if self.is_account or name != "link"]
