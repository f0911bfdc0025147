"""Checks domains: looks up their DNS records, saves what follows from them, and probes live domains over TLS.

Holds no transaction open while it waits for the network.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from waypost import auth
from waypost.database import Database, Tx
from waypost.kit.clock import timestamp
from waypost.outbound import DnsRecords, TlsProbe, TlsProbeResult
from waypost.resources.domains import verified_names
from waypost.resources.domains.checks import queue, words
from waypost.resources.domains.checks.findings import Claim, Proof
from waypost.resources.domains.checks.outcome import probed, settled
from waypost.resources.domains.checks.proof import prove
from waypost.resources.domains.checks.queue import Claimed
from waypost.resources.domains.claims import KEPT
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.model import Domain
from waypost.worker import mail
from waypost.worker.loop import LeasedQueue, LeaseLoop

AT_ONCE = 16


class LiveChanged(Protocol):
    async def __call__(self, tx: Tx, hostname: str, *, is_live: bool) -> None:
        """Called in the transaction in which a name goes live or down: from then on it gets a certificate, or none."""


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ProbedDomain:
    """A domain that is proven, and how it answers over TLS."""

    claimed: Claimed
    found: TlsProbeResult


class Checker(LeasedQueue[Claimed, ProbedDomain]):
    def __init__(
        self, deps: Deps, records: DnsRecords, probe: TlsProbe, *, live_changed: LiveChanged | None = None
    ) -> None:
        """Without `live_changed` certificates are not issued here, and the probe's result is shown for them."""
        self._deps = deps
        self._records = records
        self._probe_tls = probe
        self._live_changed = live_changed

    async def is_due(self, tx: Tx, free: int) -> bool:  # noqa: ARG002
        return await queue.has_work(tx, self._deps.clock())

    async def claim(self, tx: Tx, free: int) -> list[Claimed]:
        return await queue.claim(tx, clock=self._deps.clock, limit=free)

    async def run(self, claimed: Claimed) -> ProbedDomain | None:
        """Saves the proof in between: a certificate may be obtained on demand, which needs the name to be live.

        The probe has the same lease, so that it counts for the account's share.
        """
        proof = await self._prove(claimed)
        if not await self._save_proof(claimed, proof):
            return None
        return ProbedDomain(claimed, await self._probe_tls.probe(claimed.hostname))

    async def settle(self, tx: Tx, outcomes: Sequence[ProbedDomain]) -> None:
        for each in outcomes:
            found = await queue.held(tx, each.claimed)
            if found:
                changed = probed(found[0], each.found, is_issuing=self._live_changed is not None)
                await queue.save(tx, each.claimed.id, {**changed, "leased_until": None})

    async def _prove(self, claimed: Claimed) -> Proof:
        try:
            claim = Claim(claimed.hostname, claimed.token, self._deps.cname_target, claimed.needs_txt)
            return await prove(self._records, claim)
        except Exception:  # an unexpected error of a look-up says nothing about the domain
            log.exception("check crashed", hostname=claimed.hostname)
            return Proof("unclear", words.CRASHED.format(hostname=claimed.hostname))

    async def _save_proof(self, claimed: Claimed, proof: Proof) -> bool:
        """Whether it is live now, and was found proven."""
        publish = None
        async with self._deps.db.write() as tx:
            found = await queue.held(tx, claimed)
            if found is None:
                return False
            domain, is_asked_again = found
            if is_asked_again and proof.outcome != "proven":  # perhaps because the record has been set since
                await queue.save(tx, domain.id, {"leased_until": None})
                return False
            outcome = settled(domain, proof, self._deps.clock())
            kept = {"leased_until": claimed.leased_until} if proof.outcome == "proven" else {}  # until it is probed
            await queue.save(tx, domain.id, {**outcome.values, **kept})
            if outcome.went:
                publish = await self._deps.host_changed(tx, domain.hostname)
                if self._live_changed:
                    await self._live_changed(tx, domain.hostname, is_live=outcome.went == "up")
            if outcome.went == "up":
                await verified_names.remember(tx, domain.account_id, domain.hostname)
            if outcome.went == "down":
                await self._tell_owner(tx, domain)
        if publish:
            publish()
            log.info("domain went live" if outcome.went == "up" else "domain went down", hostname=domain.hostname)
        return proof.outcome == "proven"

    async def _tell_owner(self, tx: Tx, domain: Domain) -> None:
        """Without what was found: a stranger may have written that. Once a day, however often it goes up and down."""
        to, now = await auth.find_email(tx, domain.account_id), self._deps.clock()
        if to is None or not await queue.may_tell(tx, domain.id, now):
            return
        looked = words.MAIL_TXT if domain.needs_txt else words.MAIL_EITHER
        text = words.MAIL.format(
            looked=looked.format(hostname=domain.hostname, target=self._deps.cname_target),
            hostname=domain.hostname,
            now=_day(timestamp(now)),
            verified=_day(timestamp(domain.verified_at or domain.created_at)),
            base_url=self._deps.base_url,
            id=domain.id,
            days=KEPT.days,
        )
        subject = words.MAIL_SUBJECT.format(hostname=domain.hostname)
        await mail.send_later(tx, "service", to=to, subject=subject, text=text, now=now, account_id=domain.account_id)


def check_loop(db: Database, checker: Checker, *, at_once: int = AT_ONCE) -> LeaseLoop[Claimed, ProbedDomain]:
    return LeaseLoop(db, checker, name="domain checks", at_once=at_once)


def _day(at: str) -> str:
    return f"{at[:10]} at {at[11:16]} UTC"
