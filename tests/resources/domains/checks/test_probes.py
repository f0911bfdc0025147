"""The certificate status of a domain, as probed from outside."""

import asyncio
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from resources.domains.checks.checking import Checking
from resources.domains.env import NAME, TARGET
from servers import ALLOW, OPEN, Receiver, page

from waypost.outbound import DnsRecords, TlsProbe, TlsProbeResult
from waypost.resources.domains.checks import Checker
from waypost.resources.domains.checks.outcome import apply_probe
from waypost.resources.domains.model import CHECK_JOB, Domain

END = datetime(2031, 1, 1, tzinfo=UTC)
GOOD, BAD, NONE = (
    TlsProbeResult("good", END),
    TlsProbeResult("bad", reason="expired"),
    TlsProbeResult("none", reason="refused"),
)


async def test_shows_the_certificate_that_the_probe_finds(checking: Checking, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(NAME, not_after=END).configure_cert(tls)
    checking.names.has(TARGET, [OPEN])
    async with Receiver(page("secret"), tls=tls) as receiver:
        dns_servers = [checking.names.address]
        probe = TlsProbe(allow=ALLOW, dns_servers=dns_servers, ca_file=tmp_path / "ca.pem", port=receiver.port)
        checking.replace(Checker(checking.env.deps, DnsRecords(dns_servers), probe))
        domain = await checking.live()
        found = await checking.env.row(domain)
        assert receiver.heads == []
    assert (found.tls_status, found.tls_expires_at, found.tls_error) == ("active", END, None)
    found = await checking.a_day_later(domain)
    assert (found.is_served, found.tls_status, found.tls_expires_at) == (True, "none", None)


async def test_certificates_are_told_of_both(checking: Checking) -> None:
    servers = [checking.names.address]
    probe = TlsProbe(dns_servers=servers)
    checking.replace(Checker(checking.env.deps, DnsRecords(servers), probe, set_served=checking.note))
    domain = await checking.live()
    await checking.a_day_later(domain)
    checking.names.forgets(NAME)
    for _ in range(3):
        await checking.a_day_later(domain)
    assert checking.changes == [(NAME, True), (NAME, False)]


class Slow:
    """Of names behind which nobody answers."""

    def __init__(self) -> None:
        self.goes_on = asyncio.Event()
        self.under_way = self.most = 0

    async def probe(self, _hostname: str) -> TlsProbeResult:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await self.goes_on.wait()
        self.under_way -= 1
        return NONE


async def test_they_count_for_the_account_s_share(checking: Checking) -> None:
    """However fast domains are verified, and whatever is requested meanwhile."""
    checking.checker._probe_tls = slow = Slow()
    made = [await checking.env.make(f"n{number}.brand.test") for number in range(5)]
    for domain in made:
        checking.names.has(domain["hostname"], [TARGET], kind="CNAME")
        await checking.ask(domain)
    while slow.under_way < CHECK_JOB.queue.per_account:
        await checking.loop.step()
        await asyncio.sleep(0)
    shown = {domain["hostname"]: await checking.env.row(domain) for domain in made}
    live = [domain for domain in made if shown[domain["hostname"]].is_served]
    assert len(live) == CHECK_JOB.queue.per_account  # at once, although they are still looked at
    for domain in live:
        await checking.ask(domain)
    await checking.loop.step()
    assert slow.under_way == CHECK_JOB.queue.per_account
    slow.goes_on.set()
    await checking.loop.close()
    await checking.run()
    assert slow.most == CHECK_JOB.queue.per_account
    rows = [await checking.env.row(domain) for domain in made]
    assert [row.status for row in rows] == ["verified"] * 5


@pytest.mark.parametrize(
    ("status", "is_issuing", "seen", "changes"),
    [
        ("none", False, GOOD, {"tls_status": "active", "tls_expires_at": END}),
        ("none", False, NONE, {}),
        ("active", False, NONE, {"tls_status": "none"}),
        ("active", False, BAD, {"tls_status": "failed", "tls_error": "expired"}),
        ("active", True, GOOD, {}),
        ("active", True, BAD, {"tls_error": "expired"}),
        ("active", True, NONE, {"tls_error": "refused"}),
        ("pending", True, NONE, {}),
        ("failed", True, GOOD, {}),
    ],
)
def test_what_changes(status: str, is_issuing: bool, seen: TlsProbeResult, changes: dict[str, object]) -> None:
    fields = dict.fromkeys(Domain.__dataclass_fields__)
    assert apply_probe(Domain(**{**fields, "tls_status": status}), seen, is_issuing=is_issuing) == changes
