"""Add tags as objects: one for each tag that links have."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op
from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, Text

from waypost.database.tables import Id, Instant
from waypost.kit.clock import EPOCH
from waypost.kit.ids import new_id

revision = "0066"
down_revision = "0065"

_BATCH = 1_000
_NAME = Text().with_variant(Text(collation="C"), "postgresql")

_link_tags = sa.table("link_tags", sa.column("account_id", Id), sa.column("tag", Text))


def upgrade() -> None:
    tags = op.create_table(
        "tags",
        Column("id", Id, nullable=False),
        Column("account_id", Id, nullable=False),
        Column("name", _NAME, nullable=False),
        Column("folded_name", _NAME, nullable=False),
        Column("color", Text, nullable=False),
        Column("links_count", Integer, nullable=False),
        Column("clicks", BigInteger, nullable=False),
        Column("counted_at", Instant, nullable=False),
        Column("created_at", Instant, nullable=False),
        Column("updated_at", Instant, nullable=False),
        PrimaryKeyConstraint("id", name="pk_tags"),
    )
    now, own = datetime.now(UTC), _link_tags.c
    query = sa.select(own.account_id, own.tag, sa.func.count()).group_by(own.account_id, own.tag)
    for batch in op.get_bind().execute(query).partitions(_BATCH):
        rows = [
            {"id": new_id(), "account_id": account_id, "name": tag, "folded_name": tag.casefold(), "links_count": count}
            for account_id, tag, count in batch
        ]
        same = {"color": "gray", "clicks": 0, "counted_at": EPOCH, "created_at": now, "updated_at": now}
        op.bulk_insert(tags, [row | same for row in rows])
    op.create_index("uq_tags_name", "tags", ["account_id", "name"], unique=True)
    op.create_index("ix_tags_order", "tags", ["account_id", "folded_name", "name"])
