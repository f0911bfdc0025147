"""Check domains: look up their DNS records, save the result, probe live domains over TLS, remove expired ones.

No transaction is open while a check waits for the network.
"""

from collections.abc import Sequence
from typing import Protocol

import structlog

from waypost import auth
from waypost.database import Tx
from waypost.kit.clock import timestamp
from waypost.outbound import DnsRecords, TlsProbe, TlsProbeResult
from waypost.resources.domains import history, service, store
from waypost.resources.domains.checks import messages, outcome, queue, verification
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.model import Domain
from waypost.worker import mail
from waypost.worker.loop import QueueWorker


class LiveChanged(Protocol):
    async def __call__(self, tx: Tx, hostname: str, *, is_live: bool) -> None:
        """Called in the transaction in which a domain goes live or down: whether it gets a certificate."""


log = structlog.get_logger(__name__)


ProbedDomain = tuple[queue.DomainCheckClaim, TlsProbeResult]
"""A verified domain and the result of its TLS probe."""


class Checker(QueueWorker[queue.DomainCheckClaim, ProbedDomain]):
    name = "domain checks"
    max_concurrent = 16

    def __init__(
        self, deps: Deps, records: DnsRecords, probe: TlsProbe, *, live_changed: LiveChanged | None = None
    ) -> None:
        """Without `live_changed` certificates are obtained elsewhere, and the domain shows what the probe finds."""
        self._deps = deps
        self._records = records
        self._probe_tls = probe
        self._live_changed = live_changed

    async def is_due(self, tx: Tx) -> bool:
        return await queue.has_work(tx, self._deps.clock())

    async def claim(self, tx: Tx, free_slots: int) -> list[queue.DomainCheckClaim]:
        return await queue.claim(tx, clock=self._deps.clock, limit=free_slots)

    async def run(self, claimed: queue.DomainCheckClaim) -> ProbedDomain | None:
        """Saves the verdict before the probe: a certificate may be obtained on demand, which requires a live domain.

        The probe has the same lease, so that it counts for the account's share.
        """
        verdict = await self._verify(claimed)
        if not await self._save_verdict(claimed, verdict):
            return None
        return claimed, await self._probe_tls.probe(claimed.hostname)

    async def settle(self, tx: Tx, outcomes: Sequence[ProbedDomain]) -> None:
        for claimed, result in outcomes:
            if found := await queue.find_held(tx, claimed):
                changed = outcome.apply_probe(found[0], result, is_issuing=self._live_changed is not None)
                await store.save(tx, claimed.id, {**changed, "leased_until": None})

    async def _verify(self, claimed: queue.DomainCheckClaim) -> verification.DnsVerdict:
        try:
            expected = verification.ExpectedRecords(
                claimed.hostname, claimed.token, self._deps.cname_target, claimed.needs_txt
            )
            return await verification.verify(self._records, expected)
        except Exception:  # an unexpected error of a lookup says nothing about the domain
            log.exception("check crashed", hostname=claimed.hostname)
            return verification.DnsVerdict("unclear", messages.CRASHED.format(hostname=claimed.hostname))

    async def _save_verdict(self, claimed: queue.DomainCheckClaim, verdict: verification.DnsVerdict) -> bool:
        """Whether the domain was verified."""
        notify = None
        async with self._deps.db.write() as tx:
            found = await queue.find_held(tx, claimed)
            if found is None:
                return False
            domain, is_requested_again = found
            if is_requested_again and verdict.outcome != "verified":  # the record may exist by now
                await store.save(tx, domain.id, {"leased_until": None})
                return False
            checked = outcome.apply_verdict(domain, verdict, self._deps.clock())
            kept = {"leased_until": claimed.leased_until} if verdict.outcome == "verified" else {}  # until it is probed
            await store.save(tx, domain.id, {**checked.values, **kept})
            if checked.went:
                notify = await self._deps.invalidate_host(tx, domain.hostname)
                if self._live_changed:
                    await self._live_changed(tx, domain.hostname, is_live=checked.went == "up")
            if checked.went == "up":
                await history.record_verified(tx, domain.account_id, domain.hostname)
            if checked.went == "down":
                await self._notify_owner(tx, domain)
        if notify:
            notify()
            log.info("domain went live" if checked.went == "up" else "domain went down", hostname=domain.hostname)
        return verdict.outcome == "verified"

    async def _notify_owner(self, tx: Tx, domain: Domain) -> None:
        """Once a day at most. Omits what was found, which a stranger may have written."""
        to, now = await auth.find_email(tx, domain.account_id), self._deps.clock()
        if to is None or not await queue.mark_notified(tx, domain.id, now):
            return
        looked_for = messages.MAIL_TXT if domain.needs_txt else messages.MAIL_EITHER
        text = messages.MAIL.format(
            looked=looked_for.format(hostname=domain.hostname, target=self._deps.cname_target),
            hostname=domain.hostname,
            now=_day(timestamp(now)),
            verified=_day(timestamp(domain.verified_at or domain.created_at)),
            base_url=self._deps.base_url,
            id=domain.id,
            days=history.KEPT.days,
        )
        subject = messages.MAIL_SUBJECT.format(hostname=domain.hostname)
        await mail.send_later(tx, "service", to=to, subject=subject, text=text, now=now, account_id=domain.account_id)


async def remove_expired(deps: Deps) -> bool:
    """Remove a domain that stayed unverified for too long: nobody blocks a hostname they do not own. False if none."""
    expired = queue.expired(deps.clock())
    async with deps.db.read() as tx:  # mostly there is nothing to do, and this takes no write lock
        if (await tx.execute(expired)).first() is None:
            return False
    async with deps.db.write() as tx:
        row = (await tx.execute(expired.with_for_update(skip_locked=True))).one_or_none()
        if row is None:  # verified meanwhile, or locked by somebody else
            return False
        domain = Domain(*row)
        notify = await service.remove(deps, tx, domain)
    notify()
    account, links = str(domain.account_id), domain.links_count
    log.info("unverified domain expired", hostname=domain.hostname, account=account, links=links)
    return True


def _day(at: str) -> str:
    return f"{at[:10]} at {at[11:16]} UTC"
