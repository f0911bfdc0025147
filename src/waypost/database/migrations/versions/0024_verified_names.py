"""Which accounts ever verified a host name, and which claims are proven by TXT only."""

import hashlib

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id

revision = "0024"
down_revision = "0023"

_NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_AT_ONCE = 1_000


def upgrade() -> None:
    op.add_column("domains", sa.Column("needs_txt", sa.Boolean, nullable=False, server_default=sa.false()))
    verified = op.create_table(
        "verified_names",
        sa.Column("hostname", _NAME, primary_key=True),
        sa.Column("account_digest", sa.String(64), primary_key=True),
        sqlite_with_rowid=False,
    )
    domains = sa.table("domains", sa.column("hostname"), sa.column("account_id", Id), sa.column("verified_at"))
    found = sa.select(domains.c.hostname, domains.c.account_id).where(domains.c.verified_at.is_not(None))
    names = op.get_bind().execute(found).all()
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        op.bulk_insert(verified, [{"hostname": name, "account_digest": _digest(id_.bytes, name)} for name, id_ in some])


def _digest(account_id: bytes, hostname: str) -> str:
    return hashlib.sha256(account_id + hostname.encode()).hexdigest()
