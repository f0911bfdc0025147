"""What web processes run of the audit log."""

from waypost.resources.audit.deps import Deps
from waypost.resources.audit.pages import AuditPages
from waypost.web import Endpoints
from waypost.web.dashboard import SessionAuth, Views


def endpoints(deps: Deps, auth: SessionAuth, views: Views) -> Endpoints:
    return Endpoints([], AuditPages(deps, auth, views).endpoints())
