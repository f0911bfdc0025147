"""Move imports that were requested in the dashboard, and what commands imported, to one table.

A request keeps its id, which is in addresses, jobs, names of files and encrypted tokens.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, LargeBinary, Text

from waypost.database.secrets import Encrypted
from waypost.database.tables import Id, Instant, Json

revision = "0058"
down_revision = "0057"

_STATES = {"waiting": "running", "finished": "done"}
_PROGRESS = ("cursor", "counts", "warnings", "total", "lease_until", "leased_by")
_COMMON = ("id", "account_id", "source", "created_at", "updated_at", "actor")
_NEITHER: dict[str, Any] = {"token": None, "file_name": None, "file_size": None, "plan": {}, "failures": 0}
_BEGINNING: dict[str, Any] = dict.fromkeys(_PROGRESS) | {"counts": {}, "warnings": []}

_imports = sa.table(
    "imports",
    *(sa.column(name, Id) for name in ("id", "account_id")),
    *(sa.column(name, Text) for name in ("source", "state", "error", "leased_by")),
    *(sa.column(name, Json) for name in ("options", "cursor", "counts", "warnings", "actor")),
    *(sa.column(name, Instant) for name in ("lease_until", "created_at", "updated_at")),
    sa.column("total", Integer),
)
_requests = sa.table(
    "import_requests",
    *(sa.column(name, Id) for name in ("id", "account_id", "import_id")),
    *(sa.column(name, Text) for name in ("source", "state", "url", "timezone", "file_name", "message")),
    *(sa.column(name, Json) for name in ("domains", "plan", "actor")),
    *(sa.column(name, Instant) for name in ("created_at", "updated_at")),
    *(sa.column(name, BigInteger) for name in ("file_size", "failures")),
    sa.column("token", Encrypted),
    sa.column("has_clicks", Boolean),
)


def upgrade() -> None:
    connection = op.get_bind()
    imports = {row["id"]: row for row in connection.execute(sa.select(_imports)).mappings()}
    has_ended = _requests.c.state.in_(["done", "given_up"])
    by_use = sa.select(_requests).order_by(has_ended, _requests.c.created_at.desc(), _requests.c.id.desc())
    requests = connection.execute(by_use).mappings().all()  # of those that share an import the first gets its checks
    begun = [(row["id"], row["import_id"]) for row in requests if row["import_id"] in imports]
    op.execute("CREATE TEMPORARY TABLE earlier_refusals AS SELECT * FROM import_refusals")
    op.drop_table("import_refusals")  # SQLite would delete its rows together with those of imports
    _detach_file_pieces(connection.dialect.name)
    op.drop_table("import_requests")
    op.drop_table("imports")
    created = _create_imports()
    commands = imports.keys() - {import_id for _, import_id in begun}
    rows = [_of_request(row, imports.get(row["import_id"], {})) for row in requests]
    rows += [_of_command(imports[id_]) for id_ in commands]
    op.bulk_insert(created, rows)
    _create_refusals(connection, [*begun, *((id_, id_) for id_ in commands)])
    _attach_file_pieces(connection.dialect.name)
    checks = sa.table("import_checks", sa.column("import_id", Id))
    for id_, import_id in begun:
        connection.execute(sa.update(checks).where(checks.c.import_id == import_id).values(import_id=id_))


def _of_request(row: Any, progress: Any) -> dict[str, Any]:
    names = (*_COMMON, "state", "message", *_NEITHER)
    options = {
        "url": row["url"],
        "file": str(row["id"]) if row["file_name"] else None,
        "domains": row["domains"],
        "clicks": row["has_clicks"],
        "timezone": row["timezone"],
    }
    merged = {name: row[name] for name in names} | {name: progress.get(name, _BEGINNING[name]) for name in _PROGRESS}
    if row["state"] in {"running", "stopped"} and progress.get("state") == "finished":  # a command finished it
        merged |= {"state": "done", "message": None, "token": None}
    return merged | {"options": options, "has_page": True}


def _of_command(row: Any) -> dict[str, Any]:
    kept = {name: row[name] for name in (*_COMMON, *_PROGRESS, "options")}
    state = _STATES.get(row["state"], row["state"])
    return kept | _NEITHER | {"has_page": False, "state": state, "message": row["error"]}


def _create_imports() -> sa.Table:
    created = op.create_table(
        "imports",
        Column("id", Id, primary_key=True, autoincrement=False),
        Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        Column("source", Text, nullable=False),
        Column("options", Json, nullable=False),
        Column("has_page", Boolean, nullable=False),
        Column("state", Text, nullable=False),
        Column("message", Text),
        Column("token", Encrypted),
        Column("file_name", Text),
        Column("file_size", BigInteger),
        Column("plan", Json, nullable=False),
        Column("failures", Integer, nullable=False),
        Column("cursor", Json),
        Column("counts", Json, nullable=False),
        Column("warnings", Json, nullable=False),
        Column("total", Integer),
        Column("lease_until", Instant),
        Column("leased_by", Text),
        Column("created_at", Instant, nullable=False),
        Column("updated_at", Instant, nullable=False),
        Column("actor", Json, nullable=False),
    )
    op.create_index("ix_imports_account", "imports", ["account_id", "created_at", "id"])
    return created


def _create_refusals(connection: sa.Connection, ids: list[tuple[Any, Any]]) -> None:
    """`ids`: of imports, and of the earlier ones that have their refusals."""
    op.create_table(
        "import_refusals",
        Column("import_id", Id, ForeignKey("imports.id", ondelete="CASCADE"), primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("source_id", Text, nullable=False),
        Column("reason", Text, nullable=False),
        sqlite_with_rowid=False,
    )
    copy = sa.text(
        "INSERT INTO import_refusals SELECT :id, number, source_id, reason FROM earlier_refusals WHERE import_id = :old"
    ).bindparams(sa.bindparam("id", type_=Id), sa.bindparam("old", type_=Id))
    for id_, import_id in ids:
        connection.execute(copy, {"id": id_, "old": import_id})
    op.execute("DROP TABLE earlier_refusals")


def _detach_file_pieces(dialect: str) -> None:
    if dialect == "sqlite":
        op.drop_table("import_file_pieces")  # it has files in a directory
        return
    op.drop_constraint("fk_import_file_pieces_request_id", "import_file_pieces")
    op.alter_column("import_file_pieces", "request_id", new_column_name="import_id")


def _attach_file_pieces(dialect: str) -> None:
    if dialect == "sqlite":
        op.create_table(
            "import_file_pieces",
            Column("import_id", Id, ForeignKey("imports.id", ondelete="CASCADE"), primary_key=True),
            Column("start", BigInteger, primary_key=True, autoincrement=False),
            Column("content", LargeBinary, nullable=False),
        )
        return
    name, column = "fk_import_file_pieces_import_id", ["import_id"]
    op.create_foreign_key(name, "import_file_pieces", "imports", column, ["id"], ondelete="CASCADE")
