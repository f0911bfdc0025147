"""What the worker runs of reports."""

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.reports.emails import Emails
from waypost.settings import Settings
from waypost.worker.run import WorkerParts

_INTERVAL = 300  # seconds


def worker_parts(settings: Settings, db: Database, clock: Clock) -> WorkerParts:
    emails = Emails(db, settings.contact_email, settings.shared_domain, settings.base_url, clock)
    return WorkerParts(periodic=[(_INTERVAL, emails.send_due)])
