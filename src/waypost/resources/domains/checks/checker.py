"""Checks domains: looks up DNS records, saves the result, probes served domains over TLS, deletes expired ones.

No transaction is open while a check waits for the network.
"""

from typing import Protocol

import structlog

from waypost import accounts, audit, mail
from waypost.accounts.people import store as people
from waypost.audit import Actor, AuditAction
from waypost.database import Tx
from waypost.outbound import DnsRecords, TlsProbe, TlsProbeResult
from waypost.resources.domains import history, service, store
from waypost.resources.domains.checks import messages, outcome, verification
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.model import Domain
from waypost.resources.domains.names import is_local
from waypost.worker import jobs
from waypost.worker.jobs import Again, Job


class SetServed(Protocol):
    async def __call__(self, tx: Tx, hostname: str, *, is_served: bool) -> None:
        """Request or withdraw the certificate, in the transaction that changes `is_served`."""


log = structlog.get_logger(__name__)


class Checker:
    def __init__(
        self, deps: Deps, records: DnsRecords, probe: TlsProbe, *, set_served: SetServed | None = None
    ) -> None:
        """`set_served`: None if a proxy obtains the certificates. Then the domain shows the result of the probe."""
        self._deps = deps
        self._records = records
        self._probe_tls = probe
        self._set_served = set_served

    async def check(self, job: Job) -> Again | None:
        """Handle the job of a domain: save the verdict, then probe.

        A proxy obtains certificates on demand only for served domains. The probe is part of the job, so that it counts
        for the account's share.
        """
        async with self._deps.db.read() as tx:
            domain = await store.find(tx, job.id)
        if domain is None:
            return None
        verdict = await self._verify(domain)
        result = await self._save_verdict(job, verdict)
        if result is None:
            return None
        if verdict.outcome == "verified":
            await self._save_probe(job, await self._probe_tls.probe(domain.hostname))
        return Again(result.check_at, rank=1)

    async def _verify(self, domain: Domain) -> verification.DnsVerdict:
        try:
            expected = verification.ExpectedRecords(
                domain.hostname, domain.token, self._deps.cname_target, domain.needs_txt
            )
            return await verification.verify(self._records, expected)
        except Exception:  # an unexpected error of a lookup says nothing about the domain
            log.exception("check crashed", hostname=domain.hostname)
            return verification.DnsVerdict("unclear", messages.CRASHED.format(hostname=domain.hostname))

    async def _save_verdict(self, job: Job, verdict: verification.DnsVerdict) -> outcome.CheckResult | None:
        """Return what has changed, or None if the domain was deleted, the lease is lost, or the check is repeated."""
        async with self._deps.db.write() as tx:
            domain = await store.find_for_update(tx, job.id)
            if domain is None or not await jobs.lock(tx, job):
                return None
            if verdict.outcome != "verified" and await jobs.is_enqueued_again(tx, job):
                return None  # the record may exist by now
            result = outcome.apply_verdict(domain, verdict, self._deps.clock())
            await store.save(tx, domain.id, result.values)
            if result.is_now_served is not None:
                await self._deps.routes.host_changed(tx, domain.hostname)
                if self._set_served:
                    await self._set_served(tx, domain.hostname, is_served=result.is_now_served)
            if result.is_now_served:
                await history.record_verified(tx, domain.account_id, domain.hostname)
            await self._record(tx, domain, result)
            if result.is_now_served is False:
                await self._notify_owner(tx, domain)
        if result.is_now_served is not None:
            log.info("domain went live" if result.is_now_served else "domain went down", hostname=domain.hostname)
        return result

    async def _save_probe(self, job: Job, probe: TlsProbeResult) -> None:
        async with self._deps.db.write() as tx:
            domain = await store.find_for_update(tx, job.id)
            if domain and await jobs.lock(tx, job):
                values = outcome.apply_probe(domain, probe, is_issuing=self._set_served is not None)
                await store.save(tx, domain.id, values)

    async def _record(self, tx: Tx, domain: Domain, result: outcome.CheckResult) -> None:
        """Record in the audit log that the domain went live, went down, or failed its first verification."""
        has_failed = result.values["status"] == "failed" != domain.status
        if result.is_now_served or has_failed:
            action: AuditAction = "domain.verified" if result.is_now_served else "domain.verification_failed"
            item, actor = service.item_of(domain), Actor.system(domain.account_id, "domain check")
            await audit.record(tx, actor, action, self._deps.clock(), item)

    async def _notify_owner(self, tx: Tx, domain: Domain) -> None:
        """Send an email, at most once a day. It omits what was found, which a third party may have written."""
        to, now = await accounts.find_email(tx, domain.account_id), self._deps.clock()
        if to is None or not await store.mark_notified(tx, domain.id, now):
            return
        preferences = await people.find_preferences(tx, to)
        is_txt_only = domain.needs_txt or is_local(self._deps.cname_target)
        records = messages.MAIL_TXT if is_txt_only else messages.MAIL_EITHER
        text = messages.MAIL.format(
            looked=records.format(hostname=domain.hostname, target=self._deps.cname_target),
            hostname=domain.hostname,
            now=preferences.zoned(now),
            verified=preferences.zoned(domain.verified_at or domain.created_at),
            base_url=self._deps.base_url,
            id=domain.id,
            days=history.MAX_UNVERIFIED.days,
        )
        subject = messages.MAIL_SUBJECT.format(hostname=domain.hostname)
        await mail.send_later(tx, "service", to=to, subject=subject, text=text, now=now, owner_id=domain.account_id)


async def delete_expired(deps: Deps) -> bool:
    """Delete a domain that was unverified for too long, so that it does not block its hostname. False if none is."""
    query = store.select_expired(deps.clock())
    async with deps.db.read() as tx:  # usually there is nothing to do, and reading takes no write lock
        if (await tx.execute(query)).first() is None:
            return False
    async with deps.db.write() as tx:
        row = (await tx.execute(query.with_for_update(skip_locked=True))).one_or_none()
        if row is None:  # verified concurrently, or locked by another process
            return False
        domain = Domain(*row)
        await service.delete_locked(deps, tx, domain)
        await service.record_deleted(tx, Actor.system(domain.account_id, "expiry"), domain, deps.clock())
    account, links = str(domain.account_id), domain.links_count
    log.info("unverified domain expired", hostname=domain.hostname, account=account, links=links)
    return True
