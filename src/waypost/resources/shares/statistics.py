"""Reads the statistics that a share shows: within its filters, without small numbers."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from waypost.kit.errors import Invalid, NotFound, Problems
from waypost.redirect import DEFAULT_TARGET
from waypost.resources.clicks.dashboard.statistics import StatsCall, read_comparable
from waypost.resources.clicks.dashboard.value_lists import ValueBar, ValueList, name_value
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, Clause, FilterName, Filters
from waypost.resources.clicks.model import TOP_COUNT
from waypost.resources.clicks.selection import find_selected
from waypost.resources.clicks.stats.query import StatsQuery
from waypost.resources.clicks.stats.read import (
    LINK_LISTS,
    OTHERS,
    PAGE_LISTS,
    Statistics,
    StatsList,
    find_filtered_names,
)
from waypost.resources.clicks.store import ClickReader
from waypost.resources.links import labels
from waypost.resources.shares import hiding
from waypost.resources.shares.bounds import contains, time_of_reading
from waypost.resources.shares.model import Share

TOO_LARGE = "These statistics are too large to be counted. Choose a shorter time range, or fewer filters."


def offered_filters(share: Share) -> Collection[FilterName]:
    """Return what visitors can filter by. Where small numbers are hidden, values are chosen from lists only."""
    offered = share.offered_filters
    return [name for name in offered if name in hiding.LISTS] if share.hides else offered


def lists_of(share: Share) -> Mapping[str, StatsList]:
    return LINK_LISTS if share.link_id else PAGE_LISTS


class SharedStats:
    """What a visitor can see. It never says more than the share allows, whatever the query is."""

    def __init__(self, reader: ClickReader, share: Share, now: datetime, *, shared_domain: str) -> None:
        self.lists = lists_of(share)
        self._reader = reader
        self._share = share
        self._now = time_of_reading(share, now)
        self._shared_domain = shared_domain
        own = Filters.from_json(dict(share.filters), ACCOUNT_FILTERS, Problems())
        self._filters = share.own_clauses & own

    async def check(self, call: StatsCall) -> StatsCall:
        """Leave out filters that the share does not allow, and report them."""
        problems, filters = Problems(call.problems), call.state.filters
        filters = await self._check_links(filters, problems)
        if self._share.hides and filters:
            whole = replace(call.query, buckets=[], comparison=None)
            read = [hiding.LISTS[clause.name] for clause in filters.clauses]
            found = await self._read(whole, Filters(), read, hiding.MAX_ENTRIES)
            filters = hiding.check_chosen(filters, found, self._share.hide_below, problems)
        return replace(call, state=replace(call.state, filters=filters), problems=problems.errors)

    async def _check_links(self, filters: Filters, problems: Problems) -> Filters:
        """Nobody learns from a filter whether the account has a link that the share does not show."""
        kept: list[Clause] = []
        for clause in filters.clauses:
            if clause.name == "link_id":
                ids = {UUID(text) for text, _ in clause.values}
                account, domain = self._share.account_id, self._shared_domain
                async with self._reader.transaction() as tx:
                    is_shown = ids == await find_selected(tx, account, self._filters, ids, shared_domain=domain)
                    is_shown = is_shown and await labels.are_own(tx, account, ids)  # not deleted
                if not is_shown:
                    problems.add("link_id", hiding.NOT_CHOSEN)
                    continue
            kept.append(clause)
        return Filters(tuple(kept))

    async def read(self, query: StatsQuery, lists: Collection[StatsList] = (), limit: int | None = None) -> Statistics:
        """Raises TooFew, and Invalid without a number."""
        share, clauses = self._share, query.filters.clauses
        if not share.hides:
            return await self._read(query, query.filters, lists, limit)
        states = {}
        for state in hiding.subsets(len(clauses)):
            some = Filters(tuple(clauses[index] for index in sorted(state)))
            states[state] = await self._read(query, some, lists, hiding.MAX_ENTRIES)
        return await asyncio.to_thread(hiding.hide, states, share.hide_below, entries=limit or TOP_COUNT)

    async def _read(
        self, query: StatsQuery, filters: Filters, lists: Collection[StatsList], limit: int | None
    ) -> Statistics:
        earlier = query.comparison.range if query.comparison else None
        if not contains(self._share, query.range) or not contains(self._share, earlier):
            raise NotFound
        query = replace(query, filters=self._filters & filters)
        options = {"lists": lists, "limit": limit, "shared_domain": self._shared_domain}
        try:
            return await read_comparable(self._reader, self._share.subject, query, self._now, **options)
        except Invalid as error:
            raise Invalid({"from": [TOO_LARGE]}) from error  # its message has the number of all clicks

    async def find_targets(self, _call: StatsCall, found: Statistics) -> ValueList | None:
        """Return the targets with clicks. Rules and variants without any are not shown."""
        bars = [name_value("target", each.value, each.clicks) for each in found.lists.get("target", ())]
        others = found.hidden.others.get("target") if found.hidden else None
        if others:
            bars.append(ValueBar(OTHERS, others))
        if all(each.values == [DEFAULT_TARGET] for each in bars):
            return None
        return ValueList("Targets", "targets", "target", bars, sum(each.clicks for each in bars))

    async def find_names(self, filters: Filters) -> Mapping[str, str]:
        account = self._share.account_id
        return await find_filtered_names(self._reader, account, filters, shared_domain=self._shared_domain)
