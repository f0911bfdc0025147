"""SQL of reports."""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Select, case, delete, func, insert, literal, or_, select, tuple_, update

from waypost.database import Id, Instant, Tx, upsert
from waypost.kit.ids import new_id
from waypost.redirect.report_pages import LinkReport
from waypost.resources.reports.model import (
    IS_OPEN,
    ReportedLink,
    ReportOutcome,
    StoredReport,
    link_reports,
    reported_links,
)

MAX_STORED = 50
"""Reports of a link. Further ones are counted."""
MAX_STORED_IN_ALL = 10_000
MAIL_INTERVAL = timedelta(hours=1)

_links, _reports = reported_links.c, link_reports.c
_LINK = tuple(_links[name] for name in ReportedLink.__dataclass_fields__)
_REPORT = tuple(_reports[name] for name in StoredReport.__dataclass_fields__)


async def add(tx: Tx, link_id: UUID, account_id: UUID, report: LinkReport, now: datetime) -> None:
    """Count the report, and store it unless the link has too many. A link with an outcome is open again."""
    new = {"link_id": link_id, "account_id": account_id, "reports": 1, "mailed": 0, "first_at": now, "last_at": now}
    changed = {
        "reports": case((IS_OPEN, _links.reports + 1), else_=1),
        "mailed": case((IS_OPEN, _links.mailed), else_=0),
        "first_at": case((IS_OPEN, _links.first_at), else_=literal(now, Instant)),
        "last_at": now,
        "closed_at": None,
        "outcome": None,
    }
    statement = upsert(tx, reported_links).values(new)
    await tx.execute(statement.on_conflict_do_update(index_elements=[_links.link_id], set_=changed))
    of_link = select(_reports.id).where(_reports.link_id == link_id)
    if await _count(tx, of_link, MAX_STORED):
        return
    if await _count(tx, select(_reports.id), MAX_STORED_IN_ALL):
        await _delete_one(tx)
    row = {"reason": report.reason, "text": report.text, "email": report.email or None, "created_at": now}
    await tx.execute(insert(link_reports), {"id": new_id(), "link_id": link_id, **row})


async def list_open(tx: Tx, after: UUID | None, limit: int) -> list[ReportedLink]:
    """Return the next open links after the link `after`, the last reported first."""
    order = _links.last_at.desc(), _links.link_id.desc()
    query = select(*_LINK).where(IS_OPEN).order_by(*order).limit(limit)
    if after and (last := await find_open(tx, after)):
        shown = tuple_(literal(last.last_at, Instant), literal(last.link_id, Id))
        query = query.where(tuple_(_links.last_at, _links.link_id) < shown)
    return [ReportedLink(*row) for row in await tx.execute(query)]


async def find_open(tx: Tx, link_id: UUID) -> ReportedLink | None:
    return await tx.find(ReportedLink, select(*_LINK).where(IS_OPEN, _links.link_id == link_id))


async def count_reasons(tx: Tx, ids: Collection[UUID]) -> dict[UUID, dict[str, int]]:
    """Return how many stored reports name each reason, the most frequent first."""
    query = select(_reports.link_id, _reports.reason, func.count().label("count")).where(_reports.link_id.in_(ids))
    query = query.group_by(_reports.link_id, _reports.reason).order_by(func.count().desc(), _reports.reason)
    found: dict[UUID, dict[str, int]] = {}
    for link_id, reason, count in await tx.execute(query):
        found.setdefault(link_id, {})[reason] = count
    return found


async def list_reports(tx: Tx, link_id: UUID) -> list[StoredReport]:
    """Return the stored reports of a link, newest first."""
    query = select(*_REPORT).where(_reports.link_id == link_id).order_by(_reports.created_at.desc(), _reports.id.desc())
    return [StoredReport(*row) for row in await tx.execute(query.limit(MAX_STORED))]


async def close(tx: Tx, link_id: UUID, outcome: ReportOutcome, now: datetime) -> bool:
    """Record the outcome, and delete what reporters wrote. Return False if the link is not open."""
    closed = update(reported_links).where(IS_OPEN, _links.link_id == link_id)
    if (await tx.execute(closed.values(closed_at=now, outcome=outcome))).rowcount == 0:
        return False
    await tx.execute(delete(link_reports).where(_reports.link_id == link_id))
    return True


async def find_unmailed(tx: Tx, now: datetime, limit: int) -> list[tuple[UUID, int]]:
    """Return open links with reports that no email has named, and how many. A link is named once an hour."""
    is_due = or_(_links.mailed_at.is_(None), _links.mailed_at <= now - MAIL_INTERVAL)
    query = select(_links.link_id, _links.reports - _links.mailed).where(
        IS_OPEN, _links.reports > _links.mailed, is_due
    )
    return [(link_id, count) for link_id, count in await tx.execute(query.order_by(_links.last_at).limit(limit))]


async def mark_mailed(tx: Tx, ids: Collection[UUID], now: datetime) -> None:
    statement = update(reported_links).where(_links.link_id.in_(ids))
    await tx.execute(statement.values(mailed=_links.reports, mailed_at=now))


async def delete_some(tx: Tx, account_id: UUID, limit: int) -> int:
    """Delete reported links of an account, with their reports. Return how many links."""
    some = select(_links.link_id).where(_links.account_id == account_id).order_by(_links.link_id).limit(limit)
    await tx.execute(delete(link_reports).where(_reports.link_id.in_(some)))
    return (await tx.execute(delete(reported_links).where(_links.link_id.in_(some)))).rowcount


async def _delete_one(tx: Tx) -> None:
    """Delete the oldest report of the link that has most, so that many reports of few links displace no others."""
    most = select(_reports.link_id).group_by(_reports.link_id).order_by(func.count().desc(), _reports.link_id).limit(1)
    oldest = select(_reports.id).where(_reports.link_id == most.scalar_subquery())
    oldest = oldest.order_by(_reports.created_at, _reports.id).limit(1)
    await tx.execute(delete(link_reports).where(_reports.id == oldest.scalar_subquery()))


async def _count(tx: Tx, rows: Select[UUID], limit: int) -> bool:
    """Return whether there are at least `limit` rows."""
    return (await tx.execute(rows.offset(limit - 1).limit(1))).first() is not None
