"""Imports the app links of domains, where the domain here has none."""

from waypost.database import Tx
from waypost.kit.errors import Problems
from waypost.resources.domains.app_links import account_data
from waypost.resources.domains.app_links.documents import to_texts
from waypost.resources.imports.archive.context import Context, Rows
from waypost.resources.imports.archive.rows import AppLinksRow, parse_rows
from waypost.resources.imports.run import Page


async def save(context: Context, tx: Tx, rows: Rows, done: Page) -> None:
    for row in parse_rows(AppLinksRow, rows, "document of app links", done.warn):
        host, problems = context.references.host(row.hostname), Problems()
        texts = to_texts(row.apple_app_site_association, row.assetlinks, problems)
        if host.domain_id is None:
            done.warn("App links are left out: their domain is not here", row.hostname)
        elif problems:
            place, [message, *_] = next(iter(problems.errors.items()))
            done.warn(f"App links are left out. {place}: {message}", row.hostname)
        elif hostname := await account_data.add(tx, context.account_id, host.domain_id, texts):
            await context.deps.routes.changed(tx, [hostname])
