"""Makes what the worker runs from the settings: queues, periodic steps and the handlers of jobs.

Each resource makes its own in `resources.<name>.work`. This module connects them.
"""

import sys
from contextlib import AsyncExitStack
from functools import partial

from waypost.accounts import rate_limit_steps
from waypost.accounts.auth_deps import new_deps as new_auth_deps
from waypost.accounts.data import deletion as account_deletion
from waypost.accounts.sign_in import service as sign_in
from waypost.database import Database, KeyRing
from waypost.idempotency import delete_expired
from waypost.kit.clock import now
from waypost.outbound import Outbound, Poster
from waypost.redirect import ChangeFeed
from waypost.resources import domains, plan
from waypost.resources.audit import work as audit_work
from waypost.resources.clicks import work as clicks_work
from waypost.resources.clicks.click_store import ClickStore
from waypost.resources.clicks.click_stores import new_click_store
from waypost.resources.domains import work as domains_work
from waypost.resources.imports import work as imports_work
from waypost.resources.imports.model import CHECK_JOB
from waypost.resources.imports.requests.model import TURN_JOB
from waypost.resources.imports.requests.turns import stop as stop_import
from waypost.resources.links import Routes, domain_detach
from waypost.resources.links import work as links_work
from waypost.resources.pixels import work as pixels_work
from waypost.resources.plan import work as plan_work
from waypost.resources.reports import work as reports_work
from waypost.resources.webhooks import work as webhooks_work
from waypost.secret_key import secret_text
from waypost.settings import Settings
from waypost.wiring import domain_deps, outbound_client
from waypost.worker import mail
from waypost.worker.jobs import Handlers, JobRunner, LongJobRunner
from waypost.worker.run import WorkerParts


def worker_parts(settings: Settings, db: Database, feed: ChangeFeed, stack: AsyncExitStack) -> list[WorkerParts]:
    client, routes = outbound_client(settings), Routes(feed.publish, now)
    deps = domain_deps(settings, db, routes, now)
    key_ring = KeyRing.from_setting(secret_text(settings))
    poster, click_store = Poster(client), new_click_store(settings)
    stack.push_async_callback(poster.close)
    stack.push_async_callback(click_store.close)
    bulk_jobs = links_work.BulkJobs(settings, db, client, routes, now)
    long_jobs = LongJobRunner(
        {
            links_work.CHANGE_JOB: bulk_jobs.change,
            links_work.PURGE_JOB: bulk_jobs.purge,
            CHECK_JOB: imports_work.CheckHandler(settings, db, client),
            TURN_JOB: imports_work.new_turns(settings, db),
        },
        clock=now,
        stops={TURN_JOB: partial(stop_import, clock=now), links_work.CHANGE_JOB: bulk_jobs.stop_change},
    )
    jobs = JobRunner(handlers(settings, db, client, deps, routes, click_store), clock=now, excluded=long_jobs.names)
    return [
        WorkerParts([jobs, long_jobs], [*rate_limit_steps(db), (60, partial(delete_expired, db, now))]),
        links_work.worker_parts(settings, db, client, routes, now),
        webhooks_work.worker_parts(settings, db, poster, key_ring),
        pixels_work.worker_parts(settings, db, poster, key_ring),
        domains_work.worker_parts(settings, deps, client, key_ring),
        clicks_work.worker_parts(settings, db, stack),
        imports_work.worker_parts(settings, db),
        reports_work.worker_parts(settings, db, now),
        audit_work.worker_parts(settings, db),
    ]


def handlers(
    settings: Settings,
    db: Database,
    client: Outbound,
    deps: domains.Deps,
    routes: Routes,
    click_store: ClickStore,
) -> Handlers:
    """Return the handlers of the general queue by job name."""
    image_store = links_work.new_image_store(settings, db, now)
    return {
        domain_detach.JOB: partial(domain_detach.detach_links, db),
        sign_in.JOB: partial(sign_in.send_password_reset, new_auth_deps(settings, db, now)),
        mail.JOB: mail.handler(mail_sender(settings)),
        plan.JOB: partial(plan.cancel_subscriptions, plan_work.new_stripe(settings, client)),
        account_deletion.JOB: account_deletion.AccountDeletion(db, routes, deps, image_store, click_store, now),
    }


def mail_sender(settings: Settings) -> mail.SendMail:
    url = settings.smtp_url.get_secret_value() if settings.smtp_url else ""
    if url:
        from waypost.outbound.mail import Mailer  # noqa: PLC0415  # only with a mail server

        return Mailer(url, settings.sender, settings.outbound_ca_file, clock=now).send
    is_on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return mail.log_mail if is_on_terminal else mail.MailDirectory(settings.data_dir / "mail", clock=now).write
