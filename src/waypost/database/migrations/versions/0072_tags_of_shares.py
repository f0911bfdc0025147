"""Keep the id of the tag that a share is about. A share of a tag that is gone has none, and has ended."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column

from waypost.database.tables import Id

revision = "0072"
down_revision = "0071"

_shares = sa.table("shares", *(sa.column(name, Id) for name in ("id", "account_id", "tag_id")), sa.column("tag"))
_tags = sa.table("tags", sa.column("id", Id), sa.column("account_id", Id), sa.column("name"))


def upgrade() -> None:
    op.add_column("shares", Column("tag_id", Id))
    own, connection = _shares.c, op.get_bind()
    query = sa.select(own.id, own.account_id, own.tag).where(own.tag.is_not(None))
    for share, account, name in connection.execute(query).all():
        tag = sa.select(_tags.c.id).where(_tags.c.account_id == account, _tags.c.name == name).scalar_subquery()
        connection.execute(sa.update(_shares).where(own.id == share).values(tag_id=tag))
