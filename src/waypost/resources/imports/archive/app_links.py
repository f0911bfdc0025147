"""Imports the app links of domains, where the domain here has none."""

from functools import partial

from waypost.database import Tx
from waypost.kit.errors import Problems
from waypost.resources.domains.app_links import account_data
from waypost.resources.domains.app_links.documents import to_texts
from waypost.resources.imports.archive.reader import Rows
from waypost.resources.imports.archive.rows import AppLinksRow, parse_rows
from waypost.resources.imports.archive.target import TargetAccount
from waypost.resources.imports.page_plan import PagePlan
from waypost.resources.imports.report import PageReport


async def plan(account: TargetAccount, rows: Rows, page: PagePlan) -> None:
    page.apply = partial(_save, account, rows, page.done)


async def _save(account: TargetAccount, rows: Rows, done: PageReport, tx: Tx) -> None:
    for row in parse_rows(AppLinksRow, rows, "document of app links", done.warn):
        host, problems = account.get(row.hostname, done), Problems()
        texts = to_texts(row.apple_app_site_association, row.assetlinks, problems)
        if host.domain_id is None:
            done.warn("App links are left out: their domain is not here", row.hostname)
        elif problems:
            place, [message, *_] = next(iter(problems.errors.items()))
            done.warn(f"App links are left out. {place}: {message}", row.hostname)
        elif hostname := await account_data.add(tx, account.account_id, host.domain_id, texts):
            await account.deps.routes.changed(tx, [hostname])
