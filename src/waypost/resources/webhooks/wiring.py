"""What web processes run of webhooks."""

from waypost.resources.webhooks import api, pages
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.model import TEST
from waypost.resources.webhooks.schemas import EventJson, TestEventJson
from waypost.web import Endpoints, EventDocs, Guard
from waypost.web.dashboard import SessionAuth, Views

_EVENTS = (EventDocs(TEST, EventJson[TestEventJson], "You requested a test. No webhook can subscribe to it."),)


def endpoints(deps: Deps, guard: Guard, auth: SessionAuth, views: Views) -> Endpoints:
    return Endpoints([api.endpoints(deps, guard)], pages.WebhookPages(deps, auth, views).endpoints(), _EVENTS)
