"""People apart from accounts. Each account becomes a person with the same id, who owns it.

Versions before keep emails and passwords in `accounts`: stop them before this migration.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, String, Text

from waypost.database import Id, Instant

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    _create_people()
    with op.batch_alter_table("api_keys") as api_keys:
        api_keys.add_column(Column("created_by", Id))
        api_keys.create_foreign_key("fk_api_keys_created_by", "people", ["created_by"], ["id"], ondelete="CASCADE")
    op.create_index("ix_api_keys_created_by", "api_keys", ["created_by"])
    op.execute("UPDATE api_keys SET created_by = account_id WHERE account_id IN (SELECT id FROM people)")
    _move_credentials()
    op.drop_column("accounts", "password_hash")
    op.drop_column("accounts", "confirmed_at")


def _person(**options: Any) -> Column[Any]:
    return Column("person_id", Id, sa.ForeignKey("people.id", ondelete="CASCADE"), **options)


def _create_people() -> None:
    op.create_table(
        "people",
        Column("id", Id, primary_key=True),
        Column("email", String(254), nullable=False, unique=True),
        Column("name", Text, nullable=False),
        Column("password_hash", Text),
        Column("confirmed_at", Instant),
        Column("is_operator", sa.Boolean, nullable=False, server_default=sa.false()),
        Column("created_at", Instant, nullable=False),
        Column("updated_at", Instant, nullable=False),
    )
    op.create_table(
        "memberships",
        Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
        _person(primary_key=True, index=True),
        Column("role", Text, nullable=False),
        Column("created_at", Instant, nullable=False),
    )
    op.execute(
        "INSERT INTO people (id, email, name, password_hash, confirmed_at, created_at, updated_at)"
        " SELECT id, email, name, password_hash, confirmed_at, created_at, updated_at FROM accounts"
        " WHERE deleted_at IS NULL"
    )
    op.execute(
        "INSERT INTO memberships (account_id, person_id, role, created_at)"
        " SELECT id, id, 'owner', created_at FROM accounts WHERE deleted_at IS NULL"
    )


def _move_credentials() -> None:
    """Make the tables again, because SQLite cannot change what a column refers to."""
    tables = "sessions", "passkeys", "one_time_tokens"  # sessions refer to passkeys
    for name in tables:
        op.execute(f"CREATE TABLE {name}_before AS SELECT * FROM {name}")  # noqa: S608
        op.drop_table(name)
    op.create_table(
        "passkeys",
        Column("id", Id, primary_key=True),
        _person(nullable=False, index=True),
        Column("credential_id", sa.LargeBinary, nullable=False, unique=True),
        Column("public_key", sa.LargeBinary, nullable=False),
        Column("uses", sa.BigInteger, nullable=False),
        Column("name", Text, nullable=False),
        Column("created_at", Instant, nullable=False),
        Column("used_at", Instant),
    )
    op.create_table(
        "sessions",
        Column("id", Id, primary_key=True),
        Column("digest", String(64), nullable=False, unique=True),
        _person(nullable=False, index=True),
        Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="SET NULL"), index=True),
        Column("user_agent", Text, nullable=False),
        Column("ip", Text, nullable=False),
        *(Column(name, Instant, nullable=False) for name in ("created_at", "seen_at")),
        Column("expires_at", Instant, nullable=False, index=True),
        Column("authenticated_at", Instant, nullable=False),
        Column("passkey_id", Id, sa.ForeignKey("passkeys.id", ondelete="CASCADE"), index=True),
    )
    op.create_table(
        "one_time_tokens",
        Column("digest", String(64), primary_key=True),
        Column("purpose", Text, nullable=False),
        _person(index=True),
        Column("email", String(254)),
        Column("created_at", Instant, nullable=False),
        Column("expires_at", Instant, nullable=False, index=True),
    )
    _copy("passkeys", "id, credential_id, public_key, uses, name, created_at, used_at")
    _copy(
        "sessions",
        "id, account_id, digest, user_agent, ip, created_at, seen_at, expires_at, authenticated_at, passkey_id",
    )
    _copy("one_time_tokens", "digest, purpose, email, created_at, expires_at")
    for name in tables:
        op.drop_table(f"{name}_before")


def _copy(table: str, columns: str) -> None:
    """Copy the rows of people: of a deleted account there is none."""
    condition = "account_id IS NULL OR account_id IN (SELECT id FROM people)"
    op.execute(
        f"INSERT INTO {table} ({columns}, person_id)"  # noqa: S608  # names of this file
        f" SELECT {columns}, account_id FROM {table}_before WHERE {condition}"
    )
