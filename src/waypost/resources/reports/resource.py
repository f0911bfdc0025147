"""The parts of reports."""

from waypost.resource import Resource, Worker
from waypost.resources.reports import store
from waypost.worker.run import WorkerParts


def _worker_parts(worker: Worker) -> WorkerParts:
    from waypost.resources.reports.emails import Emails

    context = worker.context
    contact = worker.settings.contact_email
    emails = Emails(context.db, contact, context.shared_domain, context.base_url, context.clock)
    return WorkerParts(periodic=[(300, emails.send_due)])


RESOURCE = Resource(worker_parts=_worker_parts, delete_last=store.delete_some)
