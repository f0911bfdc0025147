"""The parts of reports of statistics by email."""

from typing import TYPE_CHECKING

from waypost.resource import Resource, Web, Worker
from waypost.resources.statistics_reports import account_data
from waypost.worker.jobs import Again, Job
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.statistics_reports.pages import ReportPages
    from waypost.resources.statistics_reports.unsubscribing import UnsubscribeUrls
    from waypost.web import Endpoints

    urls = UnsubscribeUrls.from_settings(web.settings)
    sends_mail = web.settings.mail_server is not None
    return Endpoints(pages=ReportPages(web.context, web.auth, web.views, urls, sends_mail=sends_mail).endpoints())


def _worker_parts(worker: Worker) -> WorkerParts:
    from waypost.resources.statistics_reports.model import SEND_JOB

    async def send_due(job: Job) -> Again | None:
        """The first report loads templates, pictures and statistics: most workers never send one."""
        from waypost.resources.statistics_reports.sender import ReportSender
        from waypost.resources.statistics_reports.unsubscribing import UnsubscribeUrls

        urls = UnsubscribeUrls.from_settings(worker.settings)
        return await ReportSender(worker.context, worker.send_mail, urls).send_due(job)

    return WorkerParts(handlers={SEND_JOB: send_due})


RESOURCE = Resource(
    templates={"statistics_reports": "waypost.resources.statistics_reports"},
    endpoints=_endpoints,
    worker_parts=_worker_parts,
    export=account_data.export,
    delete=account_data.delete_account_data,
)
