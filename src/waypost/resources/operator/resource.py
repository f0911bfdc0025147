"""The parts of the operator's pages."""

from functools import partial
from typing import TYPE_CHECKING

from waypost.resource import Resource, Web, Worker
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.accounts.resource import new_deps
    from waypost.resources.operator.account_pages import AccountPages
    from waypost.resources.operator.link_pages import OperatorPages
    from waypost.resources.operator.management_pages import ManagementPages
    from waypost.resources.operator.service_pages import ServicePages
    from waypost.web import Endpoints

    deps = new_deps(web)
    return Endpoints(
        pages=[
            # before the page of one account, whose path matches theirs
            *ManagementPages(deps, web.auth, web.views).endpoints(),
            *AccountPages(deps, web.auth, web.views).endpoints(),
            *OperatorPages(deps, web.auth, web.views).endpoints(),
            *ServicePages(web.settings, deps, web.auth, web.views).endpoints(),
        ]
    )


def _worker_parts(worker: Worker) -> WorkerParts:
    from waypost.resources.operator import diagnosis, totals

    context = worker.context
    handlers = {diagnosis.JOB: partial(diagnosis.run, context)}
    return WorkerParts(periodic=[(60, partial(totals.renew, context))], handlers=handlers)


RESOURCE = Resource(
    templates={"operator": "waypost.resources.operator"}, endpoints=_endpoints, worker_parts=_worker_parts
)
