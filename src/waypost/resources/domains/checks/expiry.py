"""Remove domains that stayed unverified for too long: nobody blocks a hostname they do not own."""

import structlog

from waypost.resources.domains import service
from waypost.resources.domains.checks import queue
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.past_claims import KEPT

log = structlog.get_logger(__name__)


async def remove_expired(deps: Deps) -> bool:
    """Remove one. False when there is none."""
    now = deps.clock()
    async with deps.db.read() as tx:  # mostly there is nothing to do, and this takes no write lock
        if not await queue.has_expired(tx, since=now - KEPT, now=now):
            return False
    async with deps.db.write() as tx:
        domain = await queue.lock_expired(tx, since=now - KEPT, now=now)
        if domain is None:  # verified meanwhile, or locked by somebody else
            return False
        publish = await service.remove(deps, tx, domain)
    publish()
    account, links = str(domain.account_id), domain.links_count
    log.info("unverified domain expired", hostname=domain.hostname, account=account, links=links)
    return True
