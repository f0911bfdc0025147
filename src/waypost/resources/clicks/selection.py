"""Which clicks statistics and lists are about: those of a link or an account that filters select."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from sqlalchemy import ColumnElement, Select, or_, select

from waypost.database import Tx
from waypost.kit.urls import UtmKey
from waypost.resources.clicks.filters import Clause, Filters, FilterValue
from waypost.resources.clicks.model import Subject
from waypost.resources.links import labels

FEW_LINKS = 200


@dataclass(frozen=True, slots=True)
class SelectedLinks:
    """Links of an account that filters select."""

    account_id: UUID
    clauses: Sequence[Clause]
    shared_domain: str
    few: Sequence[UUID] | None = None
    """All of them, if they are at most FEW_LINKS."""

    def conditions(self, dialect: str, link_id: ColumnElement[UUID]) -> list[ColumnElement[bool]]:
        """SQL conditions: the set contains the link."""
        if self.few is not None:
            return [link_id.in_(self.few)]
        conditions = [self._has(dialect, link_id, each, each.included) for each in self.clauses if each.included]
        return conditions + [
            ~self._has(dialect, link_id, each, each.excluded) for each in self.clauses if each.excluded
        ]

    async def find_ids(self, tx: Tx, limit: int) -> Sequence[UUID]:
        """Return the ids of `limit` links of the set."""
        if self.few is not None:
            return self.few[:limit]
        dialect = tx.dialect.name
        sources = (self._select(dialect, each, each.included) for each in self.clauses if all(each.included or [""]))
        (link_id,) = next(sources, labels.of_account(self.account_id)).subquery().c
        query = select(link_id).where(*self.conditions(dialect, link_id)).distinct().limit(limit)
        return (await tx.scalars(query)).all()

    def _has(self, dialect: str, link_id: ColumnElement[UUID], clause: Clause, texts: list[str]) -> ColumnElement[bool]:
        named = [text for text in texts if text]
        conditions = [link_id.in_(self._select(dialect, clause, named))] if named else []
        if len(named) < len(texts):
            conditions.append(link_id.not_in(self._select(dialect, clause, None)))
        return or_(*conditions)

    def _select(self, dialect: str, clause: Clause, texts: list[str] | None) -> Select[UUID]:
        """Select the links with one of the values. None: any value."""
        if clause.name == "link_id":
            return labels.of_account(self.account_id, labels.is_one_of(map(UUID, texts or ())))
        if clause.name == "tag":
            return labels.with_tags(self.account_id, texts)
        if clause.name == "hostname":
            return labels.on_hostnames(self.account_id, texts or (), self.shared_domain)
        return labels.with_utm(self.account_id, cast("UtmKey", clause.name), texts, dialect)


@dataclass(frozen=True, slots=True)
class ClickSelection:
    subject: Subject
    clauses: Sequence[Clause] = ()
    """Conditions on clicks."""
    links: SelectedLinks | None = None
    """None: all links of the subject."""

    @property
    def has_all(self) -> bool:
        return not self.clauses and self.links is None


async def find_selected(
    tx: Tx, account_id: UUID, filters: Filters, ids: Collection[UUID], *, shared_domain: str
) -> set[UUID]:
    """Return those of the links `ids` that filters select."""
    named = Clause("link_id", tuple(FilterValue(str(id_), is_excluded=False) for id_ in ids))
    links = SelectedLinks(account_id, [named, *filters.of_links], shared_domain)
    return set(await links.find_ids(tx, len(ids)))


async def select_clicks(tx: Tx, subject: Subject, filters: Filters, *, shared_domain: str) -> ClickSelection:
    """Raises NotFound if a filter names a link that the account does not have."""
    if not filters.of_links:
        return ClickSelection(subject, filters.of_clicks)
    named = {UUID(text) for each in filters.of_links if each.name == "link_id" for text, _ in each.values}
    if named:
        await labels.require_own(tx, subject.account_id, named)
    links = SelectedLinks(subject.account_id, filters.of_links, shared_domain)
    ids = await links.find_ids(tx, FEW_LINKS + 1)
    if len(ids) == 1:
        return ClickSelection(Subject(subject.account_id, ids[0]), filters.of_clicks)
    few = None if len(ids) > FEW_LINKS else tuple(ids)
    return ClickSelection(
        subject, filters.of_clicks, SelectedLinks(subject.account_id, filters.of_links, shared_domain, few)
    )
