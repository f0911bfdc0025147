"""Campaign templates of an account: named UTM parameters, to fill the form of a link."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Column, Table, Text, UniqueConstraint

from waypost.database import Id, Instant, Json, metadata

utm_templates = Table(
    "utm_templates",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("name", Text, nullable=False),
    Column("utm_params", Json, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    UniqueConstraint("account_id", "name", name="uq_utm_templates_account_id_name"),
)


@dataclass(frozen=True, slots=True)
class UtmTemplate:
    id: UUID
    account_id: UUID
    name: str
    utm_params: Mapping[str, str]
    created_at: datetime
    updated_at: datetime
