"""The parts of the operator's pages."""

from typing import TYPE_CHECKING

from waypost.resource import Resource, Web

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.accounts.resource import new_deps
    from waypost.resources.operator.account_pages import AccountPages
    from waypost.resources.operator.link_pages import OperatorPages
    from waypost.web import Endpoints

    deps = new_deps(web)
    return Endpoints(
        pages=[
            *AccountPages(deps, web.auth, web.views).endpoints(),
            *OperatorPages(deps, web.auth, web.views).endpoints(),
        ]
    )


RESOURCE = Resource(templates={"operator": "waypost.resources.operator"}, endpoints=_endpoints)
