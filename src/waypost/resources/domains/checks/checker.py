"""Works through the checks that are due: claims a few, looks them up side by side, settles each in a transaction.

Refuses to decide by a lost lease, and to hold a transaction open while it waits for the network.
"""

import asyncio
from typing import Protocol

import structlog

from waypost import auth
from waypost.database import Tx
from waypost.kit.clock import timestamp
from waypost.kit.errors import Unavailable
from waypost.outbound import DnsRecords, TlsProbe
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

AT_ONCE = 16
_LAST_WAIT = 12.0  # seconds that checks under way get at the end, which the parent grants


class LiveChanged(Protocol):
    async def __call__(self, tx: Tx, hostname: str, *, is_live: bool) -> None:
        """Told when a name goes live or down, in that transaction: it gets a certificate from now on, or no more."""


log = structlog.get_logger(__name__)


class Checker:
    """A poller. Without `live_changed` somebody else sees to certificates, and what is seen of them is shown."""

    def __init__(
        self,
        deps: Deps,
        records: DnsRecords,
        probe: TlsProbe,
        *,
        live_changed: LiveChanged | None = None,
        at_once: int = AT_ONCE,
    ) -> None:
        self._deps = deps
        self._records = records
        self._probe_tls = probe
        self._live_changed = live_changed
        self._at_once = at_once
        self._under_way: set[asyncio.Task[None]] = set()

    async def step(self) -> bool:
        """Begins what is due and has room; False when there was nothing. Raises Unavailable."""
        free = self._at_once - len(self._under_way)
        if free <= 0 or not await self._has_work():
            return False
        async with self._deps.db.write() as tx:
            claimed = await queue.claim(tx, clock=self._deps.clock, limit=free)
        for each in claimed:
            task = asyncio.create_task(self._run(each))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        return bool(claimed)

    async def close(self) -> None:
        """Waits for the checks under way; what does not end in time is claimed again after its lease."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_LAST_WAIT)
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _has_work(self) -> bool:
        async with self._deps.db.read() as tx:
            return await queue.has_work(tx, self._deps.clock())

    async def _run(self, claimed: Claimed) -> None:
        proof = await self._prove(claimed)
        try:
            if await self._settle(claimed, proof):
                await self._probe(claimed)
        except Unavailable as error:
            log.warning("check not settled", hostname=claimed.hostname, error=error.message)
        except Exception:
            log.exception("check not settled", hostname=claimed.hostname)

    async def _prove(self, claimed: Claimed) -> Proof:
        try:
            claim = Claim(claimed.hostname, claimed.token, self._deps.cname_target, claimed.needs_txt)
            return await prove(self._records, claim)
        except Exception:  # whatever a look-up raises says nothing about the domain
            log.exception("check crashed", hostname=claimed.hostname)
            return Proof("unclear", words.CRASHED.format(hostname=claimed.hostname))

    async def _settle(self, claimed: Claimed, proof: Proof) -> bool:
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

    async def _probe(self, claimed: Claimed) -> None:
        """After the commit: a certificate may be obtained on demand, which needs the name to be live.

        Under the same lease, so that it counts for the account's share.
        """
        seen = await self._probe_tls.probe(claimed.hostname)
        async with self._deps.db.write() as tx:
            found = await queue.held(tx, claimed)
            if found:
                changed = probed(found[0], seen, is_issuing=self._live_changed is not None)
                await queue.save(tx, claimed.id, {**changed, "leased_until": None})


def _day(at: str) -> str:
    return f"{at[:10]} at {at[11:16]} UTC"
