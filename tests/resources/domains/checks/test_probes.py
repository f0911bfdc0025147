"""What is shown of a domain's certificate, as seen from outside."""

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from resources.domains.checks.checking import Checking
from resources.domains.room import NAME, TARGET
from servers import ALLOW, OPEN, Receiver, page

from waypost.outbound import Handshake, Handshakes, Records
from waypost.resources.domains.checks import Checker
from waypost.resources.domains.checks.outcome import probed
from waypost.resources.domains.model import Domain

END = datetime(2031, 1, 1, tzinfo=UTC)
GOOD, BAD, NONE = Handshake("good", END), Handshake("bad", reason="expired"), Handshake("none", reason="refused")


async def test_it_works(checking: Checking, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(NAME, not_after=END).configure_cert(tls)
    checking.names.has(TARGET, [OPEN])
    async with Receiver(page("secret"), tls=tls) as receiver:
        dns_servers = [checking.names.address]
        handshakes = Handshakes(allow=ALLOW, dns_servers=dns_servers, ca_file=tmp_path / "ca.pem", port=receiver.port)
        checking.checker = Checker(checking.room.doors, Records(dns_servers), handshakes)
        domain = await checking.live()
        found = await checking.room.row(domain)
        assert receiver.heads == []
    assert (found.tls_status, found.tls_expires_at, found.tls_error) == ("active", END, None)
    found = await checking.a_day_later(domain)
    assert (found.is_live, found.tls_status, found.tls_expires_at) == (True, "none", None)


async def test_certificates_are_told_of_both(checking: Checking) -> None:
    servers = [checking.names.address]
    handshakes = Handshakes(dns_servers=servers)
    checking.checker = Checker(checking.room.doors, Records(servers), handshakes, live_changed=checking.note)
    domain = await checking.live()
    await checking.a_day_later(domain)
    checking.names.forgets(NAME)
    for _ in range(3):
        await checking.a_day_later(domain)
    assert checking.changes == [(NAME, True), (NAME, False)]


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
def test_what_changes(status: str, is_issuing: bool, seen: Handshake, changes: dict[str, object]) -> None:
    fields = dict.fromkeys(Domain.__dataclass_fields__)
    assert probed(Domain(**{**fields, "tls_status": status}), seen, is_issuing=is_issuing) == changes
