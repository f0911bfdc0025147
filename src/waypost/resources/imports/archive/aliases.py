"""Imports the aliases of an archive."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from waypost.database import Tx
from waypost.kit.ids import new_id
from waypost.resources.imports import rules
from waypost.resources.imports.archive.rows import AliasRow, Rows, parse_rows
from waypost.resources.imports.archive.target import TargetAccount
from waypost.resources.imports.page_plan import PagePlan, PageReport
from waypost.resources.links import aliases
from waypost.resources.links import store as link_store
from waypost.resources.links.aliases import Alias


async def plan(account: TargetAccount, rows: Rows, page: PagePlan, *, refused: Collection[str]) -> None:
    """Leave out those that no link here can have. `refused`: the links of the archive that are refused."""
    new = list(_read(account, parse_rows(AliasRow, rows, "alias", page.done.warn), page.done))
    async with account.deps.db.read() as tx:
        own = await account.find_own_ids(tx, (alias.link_id for alias in new))
        kept = [  # before the import, links do not have their ids here yet
            replace(alias, link_id=own.get(alias.link_id, alias.link_id))
            for alias in new
            if str(alias.link_id) not in refused
        ]
        free = await _find_free(tx, kept, page.done)
    page.done.counts.aliases = len(free)
    page.apply = partial(_save, account, free, page.done)


async def _save(account: TargetAccount, free: Sequence[Alias], done: PageReport, tx: Tx) -> None:
    here = await link_store.lock_all(tx, account.account_id, {alias.link_id for alias in free})
    added = await _find_free(tx, [alias for alias in free if alias.link_id in here], done)
    await aliases.add_many(tx, added)
    done.counts.aliases = len(added)
    await link_store.save_search_texts(tx, [here[link_id] for link_id in {alias.link_id for alias in added}])
    await account.deps.routes.changed(tx, sorted(aliases.route_changes(added)))


def _read(account: TargetAccount, rows: Sequence[AliasRow], done: PageReport) -> Iterator[Alias]:
    for row in rows:
        host = account.get(row.hostname, done)
        if host.domain_id is None or aliases.find_path_problem(row.path):
            done.warn("An alias is left out: the account does not have its domain", f"{row.hostname}/{row.path}")
        else:
            domain = host.domain_id, host.hostname
            yield Alias(new_id(), account.account_id, row.link_id, *domain, row.path, row.created_at)


async def _find_free(tx: Tx, new: Sequence[Alias], done: PageReport) -> list[Alias]:
    """Return those that can be added. Warns of those whose address leads to another link, and of too many of a link."""
    taken = await aliases.find_links(tx, ((alias.domain_id, alias.path) for alias in new))
    free: dict[aliases.AliasAddress, Alias] = {}
    for alias in new:
        address = alias.domain_id, alias.path
        if taken.get(address, alias.link_id) != alias.link_id:
            done.warn("An alias leads to another link already", f"{alias.hostname}/{alias.path}")
        elif address not in taken:
            free.setdefault(address, alias)
    within, beyond = await aliases.split_by_limit(tx, list(free.values()))
    for alias in beyond:
        done.warn(rules.TOO_MANY_ALIASES, f"{alias.hostname}/{alias.path}")
    return within
