"""Imports the aliases of an archive."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from waypost.database import Tx
from waypost.kit.ids import new_id
from waypost.resources.imports.archive.context import Context, Rows
from waypost.resources.imports.archive.rows import AliasRow, parse_rows
from waypost.resources.imports.run import Page
from waypost.resources.links import aliases
from waypost.resources.links import store as link_store
from waypost.resources.links.aliases import Alias


def read(context: Context, rows: Rows, done: Page) -> list[Alias]:
    """Leave out those that no link here can have. `link_id`: of the archive."""
    return list(_read(context, parse_rows(AliasRow, rows, "alias", done.warn), done))


async def plan(context: Context, tx: Tx, new: Sequence[Alias], refused: Collection[str], done: Page) -> None:
    """Count and warn as an import does. `refused`: the links of the archive that are refused."""
    own = await context.find_own_ids(tx, (alias.link_id for alias in new))
    kept = [
        replace(alias, link_id=own.get(alias.link_id, alias.link_id))
        for alias in new
        if str(alias.link_id) not in refused
    ]
    done.counts.aliases = len(await find_free(tx, kept, done))


async def save(context: Context, tx: Tx, new: Sequence[Alias], done: Page) -> None:
    own = await context.find_own_ids(tx, (alias.link_id for alias in new))
    here = await link_store.find_own(tx, context.account_id, own.values())
    kept = [replace(alias, link_id=own[alias.link_id]) for alias in new if own.get(alias.link_id) in here]
    added = await find_free(tx, kept, done)
    await aliases.add_many(tx, added)
    done.counts.aliases = len(added)
    await link_store.save_search_texts(tx, [here[link_id] for link_id in {alias.link_id for alias in added}])
    await context.deps.routes.changed(tx, sorted({alias.hostname for alias in added}))


def _read(context: Context, rows: Sequence[AliasRow], done: Page) -> Iterator[Alias]:
    for row in rows:
        host = context.references.host(row.hostname)
        if host.domain_id is None or aliases.find_path_problem(row.path):
            done.warn("An alias is left out: its domain is not here", f"{row.hostname}/{row.path}")
        else:
            account, domain = context.account_id, host.domain_id
            yield Alias(new_id(), account, row.link_id, domain, host.hostname, row.path, row.created_at)


async def find_free(tx: Tx, new: Sequence[Alias], done: Page) -> list[Alias]:
    """Return those that can be added. Warns of those whose address leads to another link."""
    taken = await aliases.find_links(tx, ((alias.domain_id, alias.path) for alias in new))
    free: dict[aliases.AliasAddress, Alias] = {}
    for alias in new:
        address = alias.domain_id, alias.path
        if taken.get(address, alias.link_id) != alias.link_id:
            done.warn("An alias leads to another link here already", f"{alias.hostname}/{alias.path}")
        elif address not in taken:
            free.setdefault(address, alias)
    return list(free.values())
