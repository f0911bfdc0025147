"""What an authority refuses to all of us, and what is text of it to whom."""

from datetime import timedelta

import pytest
from resources.domains.certificates.authorities import problem
from resources.domains.certificates.conftest import RING, Certification, row_of, work
from structlog.testing import capture_logs

from waypost.database.secrets import DecryptionFailed
from waypost.outbound import Outbound
from waypost.outbound.acme import Acme
from waypost.outbound.acme_problems import _REASONS, NO_ACCOUNT
from waypost.resources.domains.certificates.authority import Authority
from waypost.resources.domains.certificates.issuer import _reason

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.mark.parametrize(
    ("detail", "orders"),
    [
        ('too many failed authorizations (5) for "0.example" in the last 1h0m0s', 4),
        ("too many new orders (300) from this account in the last 3h0m0s", 1),
        ("", 1),
    ],
    ids=["name", "account", "unsaid"],
)
async def test_rate_limit_of_the_service(
    detail, orders, scripted, issuer, live, tls_state, clock, db, monkeypatch
) -> None:
    """All names wait for it, as long as it says but some hours; for the limit of one name no other does."""
    monkeypatch.setattr("waypost.resources.domains.certificates.issuer.Issuer.max_concurrent", 1)
    names = [f"{n}.example" for n in range(4)]
    await live(*names)
    scripted.on_order = [problem(429, "rateLimited", detail, retry_after="3600")]
    scripted.on_order.append(problem(403, "rejectedIdentifier", "no"))
    at_work = issuer(scripted.directory, scripted.ca_file)
    await work(at_work)
    assert scripted.requests.count("/newOrder") == orders
    assert (await row_of(db, "0.example")).due_at == clock.now + timedelta(hours=1)
    clock.passes(minutes=59)
    count = len(scripted.requests)
    await work(at_work)
    assert (len(scripted.requests) > count) == (orders > 1)  # those that were refused are tried again
    clock.passes(minutes=1)
    await work(at_work)
    assert {(await tls_state(each))[0] for each in names} == {"failed"}


@pytest.mark.parametrize("on", ["account", "order"])
async def test_a_rejected_account(on, scripted, issuer, live, tls_state, clock, db) -> None:
    """Is no fault of the name, which is not text how the account is doing: the log is."""
    await live("ivan.example")
    refused = problem(403, "unauthorized", "Account is not valid, has status deactivated")
    scripted.on_order, scripted.on_account = [refused], refused if on == "account" else b""
    at_work = issuer(scripted.directory, scripted.ca_file)
    with capture_logs() as logs:
        await work(at_work)
    assert await tls_state("ivan.example") == ("failed", False, NO_ACCOUNT)
    assert "deactivated" in logs[-1]["detail"]
    assert at_work.issuer._paused_until == clock.now + timedelta(seconds=30)


async def test_internal_details_are_in_the_log_only(scripted, live, tls_state, clock, db) -> None:
    """Addresses of the inside, and what the operator may set."""
    await live("judy.example")
    authority = Authority(db, Acme(Outbound(), scripted.directory), RING, email="", clock=clock)
    with capture_logs() as logs:
        await work(Certification(db, authority, clock))
    text = "The certificate authority cannot be reached. The administrator of this service has to fix it."
    assert await tls_state("judy.example") == ("failed", False, text)
    assert "127.0.0.1" in logs[-1]["detail"]
    assert "WAYPOST_OUTBOUND_ALLOW" in logs[-1]["detail"]
    for settings in (_reason(DecryptionFailed()), *_REASONS.values()):
        assert "WAYPOST" not in settings
