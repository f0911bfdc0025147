"""The parts of the audit log."""

from typing import TYPE_CHECKING

from waypost.audit import store
from waypost.resource import Resource, Web, Worker
from waypost.resources.audit import account_data
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.audit.pages import AuditPages
    from waypost.web import Endpoints

    return Endpoints(pages=AuditPages(web.context, web.auth, web.views).endpoints())


def _worker_parts(worker: Worker) -> WorkerParts:
    from waypost.audit.retention import AuditRetention

    days, context = worker.settings.audit_days, worker.context
    return WorkerParts(periodic=[(3600, AuditRetention(context.db, days, clock=context.clock).step)] if days else ())


RESOURCE = Resource(
    templates={"audit": "waypost.resources.audit"},
    endpoints=_endpoints,
    worker_parts=_worker_parts,
    exported_rows={"audit_log.ndjson": account_data.read_entries},
    delete_last=store.delete_some,
)
