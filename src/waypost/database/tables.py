"""The MetaData that every `model.py` adds its tables to, and column types that mean the same on both databases."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, DateTime, Dialect, LargeBinary, MetaData, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator, TypeEngine

from waypost.kit.clock import from_microseconds, microseconds

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def only_where(condition: ColumnElement[bool]) -> dict[str, Any]:
    """Return the options of an `Index` that has no other rows."""
    return {"sqlite_where": condition, "postgresql_where": condition}


class Id(TypeDecorator[UUID]):
    """A UUID: 16 bytes on SQLite, because text would take 36, and again in each index."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(Uuid() if dialect.name == "postgresql" else LargeBinary(16))

    def process_bind_param(self, value: UUID | None, dialect: Dialect) -> Any:
        return value if value is None or dialect.name == "postgresql" else value.bytes

    def process_result_value(self, value: Any, dialect: Dialect) -> UUID | None:
        return value if value is None or dialect.name == "postgresql" else UUID(bytes=value)


class Instant(TypeDecorator[datetime]):
    """A point in time in UTC to the microsecond: an integer on SQLite, so that comparisons are exact."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(DateTime(timezone=True) if dialect.name == "postgresql" else BigInteger())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        return value if value is None or dialect.name == "postgresql" else microseconds(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        return value if value is None or dialect.name == "postgresql" else from_microseconds(value)


class Json(TypeDecorator[Any]):
    """A JSON value: text on SQLite, JSONB on PostgreSQL."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(JSONB(none_as_null=True) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        return value if value is None or dialect.name == "postgresql" else json.dumps(value, ensure_ascii=False)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return value if value is None or dialect.name == "postgresql" else json.loads(value)
