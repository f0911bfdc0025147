"""The parts of accounts."""

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from waypost.accounts.data import account_data
from waypost.resource import Resource, Web, Worker
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.accounts.deps import Deps
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.accounts import pages
    from waypost.accounts.keys import api
    from waypost.web import Endpoints

    return Endpoints([(web.context, api.ENDPOINTS)], pages.endpoints(new_deps(web), web.auth, web.views))


def new_deps(web: Web) -> "Deps":
    from waypost.accounts.auth_deps import new_deps as new_auth_deps
    from waypost.accounts.deps import Deps
    from waypost.accounts.sign_in.limiter import SignInLimiter
    from waypost.kit.proxies import is_loopback
    from waypost.secret_key import derived_key

    settings, context = web.settings, web.context
    limiter = SignInLimiter(
        web.limiters,
        settings.trusted_proxies,
        key=derived_key(settings, "known browsers"),
        is_secure=context.base_url.startswith("https:"),
        db=context.db,
    )
    auth = new_auth_deps(settings, context.db, context.clock)
    oidc = None
    if settings.oidc_issuer:
        from waypost.accounts.oidc.deps import new_deps as new_oidc_deps

        oidc = new_oidc_deps(settings, auth)
    is_local = web.listens_locally and is_loopback(urlsplit(context.base_url).hostname or "")
    return Deps(
        **vars(auth),
        sign_in_limiter=limiter,
        context=context,
        resources=web.resources,
        is_local=is_local,
        oidc=oidc,
    )


def _worker_parts(worker: Worker) -> WorkerParts:
    from waypost.accounts import rate_limit_steps
    from waypost.accounts.auth_deps import new_deps as new_auth_deps
    from waypost.accounts.data import deletion
    from waypost.accounts.sign_in import service as sign_in

    context = worker.context
    auth = new_auth_deps(worker.settings, context.db, context.clock)
    return WorkerParts(
        periodic=rate_limit_steps(context.db),
        handlers={
            sign_in.JOB: partial(sign_in.send_password_reset, auth),
            deletion.JOB: deletion.AccountDeletion(context, worker.resources),
        },
    )


RESOURCE = Resource(
    templates={"account": "waypost.accounts"},
    endpoints=_endpoints,
    worker_parts=_worker_parts,
    export=account_data.export,
)
