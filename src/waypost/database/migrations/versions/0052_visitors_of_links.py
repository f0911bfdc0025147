"""Visitors of a day have rows of links. One of the account is only for visitors of more than eight links.

Versions before would count the other visitors of accounts again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"

_NEXT_DAY = sa.text("SELECT min(day) FROM visitor_days WHERE day > :day")
_DELETE = sa.text(
    "DELETE FROM visitor_days WHERE day = :day AND subject_id IN (SELECT id FROM accounts) AND visitor_id NOT IN"
    " (SELECT visitor_id FROM visitor_days WHERE day = :day GROUP BY visitor_id HAVING count(*) > 9)"
)


def upgrade() -> None:
    connection = op.get_bind()
    day = -1
    while (day := connection.scalar(_NEXT_DAY, {"day": day})) is not None:
        connection.execute(_DELETE, {"day": day})
