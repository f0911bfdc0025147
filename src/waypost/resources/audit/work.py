"""What the worker runs of the audit log: its retention."""

from waypost.audit.retention import AuditRetention
from waypost.database import Database
from waypost.kit.clock import now
from waypost.settings import Settings
from waypost.worker.run import WorkerParts


def worker_parts(settings: Settings, db: Database) -> WorkerParts:
    if settings.audit_days == 0:
        return WorkerParts()
    return WorkerParts(periodic=[(3600, AuditRetention(db, settings.audit_days, clock=now).step)])
