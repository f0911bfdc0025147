"""What web processes run of the operator's pages."""

from waypost.accounts.deps import Deps as AccountDeps
from waypost.resources.clicks.deps import Deps as ClicksDeps
from waypost.resources.links.deps import Deps as LinksDeps
from waypost.resources.operator.account_pages import AccountPages
from waypost.resources.operator.deps import Deps
from waypost.resources.operator.link_pages import LinkPages
from waypost.resources.operator.suspension import SuspensionDeps
from waypost.web import Endpoints
from waypost.web.dashboard import SessionAuth, Views


def new_deps(account: AccountDeps, clicks: ClicksDeps, links: LinksDeps) -> Deps:
    suspension = SuspensionDeps(clicks.db, account.routes, clicks.clock)
    return Deps(account, suspension, clicks.store, links)


def endpoints(deps: Deps, auth: SessionAuth, views: Views) -> Endpoints:
    return Endpoints([], [*AccountPages(deps, auth, views).endpoints(), *LinkPages(deps, auth, views).endpoints()])
