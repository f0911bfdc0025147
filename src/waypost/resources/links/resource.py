"""The parts of links."""

from functools import cache, partial
from typing import TYPE_CHECKING

from waypost.context import Context
from waypost.database import Tx
from waypost.resource import Resource, Web, Worker
from waypost.resources.links import account_data
from waypost.settings import Settings
from waypost.worker.jobs import Again, Job
from waypost.worker.run import Periodic, WorkerParts

if TYPE_CHECKING:
    from waypost.outbound import DestinationChecker
    from waypost.resources.links.deps import Deps
    from waypost.resources.links.health.visits import LinkVisits
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.clicks.stats.read import find_sparklines, find_top_links
    from waypost.resources.links import api, integration_pages, pages
    from waypost.resources.links.bulk import pages as bulk_pages
    from waypost.resources.links.images import api as media_api
    from waypost.resources.links.schemas import LinkJson
    from waypost.resources.links.tags import pages as tag_pages
    from waypost.resources.saved_views import service as saved_views
    from waypost.resources.webhooks.schemas import EventJson
    from waypost.web import Endpoints, EventDocs

    context, auth, views = web.context, web.auth, web.views
    deps = new_deps(web.settings, context, web.destination_checker)
    web.stack.callback(deps.images.close)
    clicks = context.db, context.click_store, context.clock
    sparklines, top_links = partial(find_sparklines, *clicks), partial(find_top_links, *clicks)
    link_pages = pages.LinkPages(
        deps, auth, views, sparklines=sparklines, top_links=top_links, saved_views=saved_views.list_views
    )
    created = (
        "A link was created in the dashboard or by the API. `data` is the link as `GET /links/{id}` returned it then."
    )
    return Endpoints(
        [(deps, api.ENDPOINTS)],
        [
            *bulk_pages.BulkPages(deps, auth, views).endpoints(),  # first: its paths also match those of one link
            *link_pages.endpoints(),
            *tag_pages.TagPages(deps, auth, views).endpoints(),
            *integration_pages.IntegrationPages(deps, auth, views).endpoints(),
        ],
        [EventDocs("link.created", EventJson[LinkJson], created, {"clicks": 0})],
        [media_api.route(context.image_store)],
    )


def _worker_parts(worker: Worker) -> WorkerParts:
    from waypost.resources.links import domain_detach
    from waypost.resources.links.health.schedule import CHECK_JOB
    from waypost.resources.links.model import CHANGE_JOB, PURGE_JOB

    settings, context = worker.settings, worker.context

    @cache
    def deps() -> "Deps":
        """Called by the first job: most workers never run one."""
        return new_deps(settings, context, worker.destination_checker)

    async def change(job: Job) -> Again | None:
        from waypost.resources.links.bulk import changes

        return await changes.run(deps(), job)

    async def stop_change(tx: Tx, job: Job) -> None:
        from waypost.resources.links.bulk import changes

        await changes.stop(deps(), tx, job)

    @cache
    def visits() -> "LinkVisits":
        from waypost.resources.links.health.visits import LinkVisits

        return LinkVisits(context, worker.destination_checker, settings.link_check_days)

    async def check_health(job: Job) -> Again | None:
        return await visits().run(job) if settings.link_check_days else None

    async def purge(job: Job) -> Again | None:
        from waypost.resources.links.bulk import changes

        return await changes.purge(deps(), job)

    return WorkerParts(
        periodic=_periodic(worker),
        handlers={
            domain_detach.JOB: partial(domain_detach.detach_links, context.db, context.routes),
            CHANGE_JOB: change,
            CHECK_JOB: check_health,
            PURGE_JOB: purge,
        },
        stops={CHANGE_JOB: stop_change},
    )


def _periodic(worker: Worker) -> list[Periodic]:
    from waypost.resources.links.health.schedule import HealthSchedule
    from waypost.resources.links.routing.recheck import RoutingRecheck
    from waypost.resources.links.tags.clicks import TagClicks

    settings, context = worker.settings, worker.context
    periodic: list[Periodic] = [(60, TagClicks(context.db, context.clock).step)]
    if settings.link_check_days:
        periodic.append((60, HealthSchedule(context.db, settings.link_check_days, context.clock).step))
    if settings.blocklist or settings.safe_browsing_key:
        periodic.append((60, RoutingRecheck(context, worker.destination_checker).step))
    if context.db.dialect == "postgresql":
        from waypost.resources.links.images.rows import ImageRows

        rows = ImageRows(context.db, settings.data_dir, context.clock)
        periodic += [(60, rows.clean_cache), (3600, rows.delete_unused)]
    return periodic


def new_deps(settings: Settings, context: Context, checker: "DestinationChecker") -> "Deps":
    from waypost.resources.links.deps import Deps
    from waypost.resources.links.images.encoder import ImageReencoder

    return Deps(
        **vars(context),
        destination_checker=checker,
        images=ImageReencoder(),
        accepts_unreachable=settings.destination_check == "lenient",
    )


RESOURCE = Resource(
    templates={"links": "waypost.resources.links", "tags": "waypost.resources.links.tags"},
    endpoints=_endpoints,
    worker_parts=_worker_parts,
    export=account_data.export,
    delete=account_data.delete_account_data,
    delete_of_links=account_data.delete_rows,
)
