"""Table of what workers report to operators."""

from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import Column, Table, Text, select

from waypost.database import Instant, Json, Tx, metadata, upsert

ReportKind = Literal["diagnosis", "totals"]

service_reports = Table(
    "service_reports",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("node", Text, nullable=False),  # the machine that reports
    Column("at", Instant, nullable=False),
    Column("content", Json, nullable=False),
)
_c = service_reports.c


class ServiceReport(NamedTuple):
    node: str
    at: datetime
    content: Any


async def find_report(tx: Tx, kind: ReportKind) -> ServiceReport | None:
    return await tx.find(ServiceReport, select(_c.node, _c.at, _c.content).where(_c.kind == kind))


async def save_report(tx: Tx, kind: ReportKind, report: ServiceReport) -> None:
    row = {"kind": kind, **report._asdict()}
    statement = upsert(tx, service_reports).values(row)
    await tx.execute(statement.on_conflict_do_update(index_elements=[_c.kind], set_=row))
