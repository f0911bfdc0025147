"""What web processes run of webhooks."""

from waypost.resources.webhooks import api, pages
from waypost.resources.webhooks.deps import Deps
from waypost.web import Endpoints, Guard
from waypost.web.dashboard import SessionAuth, Views


def endpoints(deps: Deps, guard: Guard, auth: SessionAuth, views: Views) -> Endpoints:
    return Endpoints([api.endpoints(deps, guard)], pages.WebhookPages(deps, auth, views).endpoints())
