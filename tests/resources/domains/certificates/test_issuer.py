"""Certificates for what is served and for nothing else, from a real authority and from those that fail."""

import asyncio
from datetime import timedelta

import pytest
from cryptography import x509
from resources.domains.certificates.authorities import NOWHERE, Pebble, Scripted, needs_pebble, problem
from resources.domains.certificates.conftest import RING, proofs, row_of, work
from servers import response
from sqlalchemy import func, select, update

from waypost.database import Database
from waypost.kit.errors import Unavailable
from waypost.resources.domains.certificates import store
from waypost.resources.domains.certificates.issuer import _reason, wait_after
from waypost.resources.domains.model import acme_accounts, acme_challenges, certificates

C = certificates.c


async def count(db: Database, table) -> int:
    async with db.read() as tx:
        return await tx.scalar(select(func.count()).select_from(table))


async def make_due(db: Database, hostname: str, clock) -> None:
    async with db.write() as tx:
        await tx.execute(update(certificates).where(C.hostname == hostname).values(due_at=clock.now))
    clock.passes(seconds=2)


@needs_pebble
async def test_obtains_and_renews_certificates(pebble: Pebble, issuer, live, tls_state, clock, db: Database) -> None:
    await live("go.alice.example", "bob.example")
    await live("claimed.example", is_served=False)
    at_work = issuer(pebble.directory, pebble.ca_file, pebble.dns_server, own=("app.test",))
    async with proofs(db, pebble.proof_port):
        await work(at_work)
        for host in ("go.alice.example", "bob.example", "app.test"):
            row = await row_of(db, host)
            leaf = x509.load_pem_x509_certificates(row.chain.encode())[0]
            lifetime = leaf.not_valid_after_utc - leaf.not_valid_before_utc
            assert row.expires_at == leaf.not_valid_after_utc
            assert abs(row.due_at - leaf.not_valid_before_utc - lifetime * 2 / 3) < timedelta(seconds=1)
            assert "PRIVATE KEY" in RING.decrypt(C.key, row.id, row.key)
        assert await row_of(db, "claimed.example") is None
        assert await tls_state("bob.example") == ("active", True, None)
        assert await count(db, acme_accounts) == 1
        assert await count(db, acme_challenges) == 0

        before = await row_of(db, "bob.example")
        await make_due(db, "bob.example", clock)
        await work(at_work)
        after = await row_of(db, "bob.example")
        assert after.chain != before.chain
        assert after.key != before.key
        assert after.updated_at > before.updated_at


@needs_pebble
async def test_a_hostname_that_the_authority_cannot_validate(pebble, issuer, live, tls_state, clock, db) -> None:
    """It holds up no other, and is text why."""
    missing = f"{NOWHERE}example"
    await live(missing, "carol.example")
    async with proofs(db, pebble.proof_port):
        await work(issuer(pebble.directory, pebble.ca_file, pebble.dns_server))
    assert await tls_state("carol.example") == ("active", True, None)
    status, has_end, error = await tls_state(missing)
    assert (status, has_end) == ("failed", False)
    assert error.startswith("The certificate authority refused: ")
    row = await row_of(db, missing)
    assert (row.failures, row.due_at) == (1, clock.now + timedelta(minutes=1))


@needs_pebble
async def test_registers_again_when_the_authority_has_lost_the_account(pebble, issuer, live, tls_state, db) -> None:
    await live("dave.example")
    at_work = issuer(pebble.directory, pebble.ca_file, pebble.dns_server)
    account = await at_work.issuer._authority._account()
    async with db.write() as tx:
        await tx.execute(update(acme_accounts).values(url=f"{account.url}999"))
    async with proofs(db, pebble.proof_port):
        await work(at_work)
    assert (await tls_state("dave.example"))[0] == "active"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_rate_limit_of_one_hostname(scripted: Scripted, issuer, live, tls_state, clock, db: Database) -> None:
    """It comes back when it may; what there is stays served, and is not said to have failed, until it ends."""
    await live("erin.example")
    scripted.on_order = [problem(429, "rateLimited", "too many\ncertificates", retry_after="7200")]
    async with db.write() as tx:
        await store.request(tx, "erin.example", clock.now)
        end = clock.now + timedelta(hours=3)
        ciphertext = RING.encrypt(C.key, (await tx.execute(select(C.id))).scalar_one(), "key")
        await tx.execute(update(certificates).values(chain="old", key=ciphertext, expires_at=end))
    at_work = issuer(scripted.directory, scripted.ca_file)
    await work(at_work)
    row = await row_of(db, "erin.example")
    assert (row.due_at, row.failures, row.chain) == (clock.now + timedelta(hours=2), 1, "old")
    text = "The certificate authority refused: too many certificates were requested recently."
    assert await tls_state("erin.example") == ("active", True, f'{text} It said: "too many certificates"')
    count = len(scripted.requests)
    clock.passes(hours=1, minutes=59)
    await work(at_work)
    assert len(scripted.requests) == count
    clock.passes(hours=2)
    await work(at_work)
    assert len(scripted.requests) > count
    assert (await tls_state("erin.example"))[0] == "failed"
    assert (await row_of(db, "erin.example")).chain == "old"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("directory", "text"),
    [
        (b"", "cannot be reached. Waypost will try again."),
        (response(503, b"busy", retry_after="600"), "failing: it responded with status 503"),
        (response(200, b"<html>"), "not an ACME server: its response has no JSON"),
        (response(200, b"{}"), "not an ACME server: its response has no newAccount"),
        (response(200, b'{"newAccount":"http://127.0.0.1/"}'), "not an ACME server: its response has no newNonce"),
        (response(200, b'{"newNonce":"file:///etc/passwd","newAccount":"/"}'), "sent an invalid URL"),
        (response(200, b"{" * 300_000), "not an ACME server"),
    ],
    ids=["down", "busy", "no-json", "empty", "half", "file", "endless"],
)
async def test_a_failing_authority(directory, text, scripted, issuer, live, tls_state, clock, db) -> None:
    """All names wait for it, and it is left in peace for a while."""
    await live(*(f"{n}.example" for n in range(6)))
    scripted.on_directory = directory
    url = scripted.directory if directory else "https://127.0.0.1:1/directory".replace(":1/", f":{_closed()}/")
    at_work = issuer(url, scripted.ca_file)
    await work(at_work)
    states = [await tls_state(f"{n}.example") for n in range(6)]
    assert [state[0] for state in states] == ["failed"] * 4 + ["pending"] * 2
    assert text in states[0][2]
    clock.passes(seconds=20)
    count = len(scripted.requests)
    await work(at_work)
    assert len(scripted.requests) == count
    clock.passes(minutes=11)
    await work(at_work)
    assert (await tls_state("5.example"))[0] == "failed"


def _closed() -> int:
    from resources.domains.certificates.authorities import free_ports

    return free_ports(1)[0]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_retries_with_a_new_nonce(scripted, issuer, live, tls_state, db) -> None:
    await live("frank.example")
    refused = problem(400, "badNonce", "stale")
    scripted.on_order = [refused, refused, problem(403, "rejectedIdentifier", "not this one")]
    await work(issuer(scripted.directory, scripted.ca_file))
    text = 'refused: it does not issue certificates for this hostname. It said: "not this one"'
    assert text in (await tls_state("frank.example"))[2]
    assert scripted.requests.count("/newOrder") == 3


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_who_stops_in_the_middle_leaves_it_to_the_next(scripted, issuer, live, db, monkeypatch) -> None:
    await live("grace.example")
    at_work = issuer(scripted.directory, scripted.ca_file)
    reached, never = asyncio.Event(), asyncio.Event()

    async def stall(hostname: str, ordering) -> None:
        reached.set()
        await never.wait()

    monkeypatch.setattr(at_work.issuer._authority, "obtain", stall)
    monkeypatch.setattr(at_work.issuer, "shutdown_timeout", 0.01)
    await at_work.step()
    await reached.wait()
    assert (await row_of(db, "grace.example")).leased_until is not None
    await at_work.close()
    row = await row_of(db, "grace.example")
    assert (row.leased_until, row.failures, row.error) == (None, 0, None)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_an_unexpected_error(scripted, issuer, live, tls_state, clock, db, monkeypatch) -> None:
    """Is waited out as any other, and an outage of the database meanwhile loses nothing."""
    await live("heidi.example")
    at_work = issuer(scripted.directory, scripted.ca_file)
    settle, outages = store.settle, [Unavailable(), Unavailable()]

    async def break_down(hostname: str, ordering) -> None:
        raise ZeroDivisionError

    async def in_an_outage(*given):
        if outages:
            raise outages.pop()
        return await settle(*given)

    monkeypatch.setattr(at_work.issuer._authority, "obtain", break_down)
    monkeypatch.setattr(store, "settle", in_an_outage)
    for _ in range(2):
        with pytest.raises(Unavailable):
            await work(at_work)
    await work(at_work)
    assert await tls_state("heidi.example") == ("failed", False, _reason(ZeroDivisionError()))
    assert (await row_of(db, "heidi.example")).due_at == clock.now + timedelta(minutes=1)


def test_waits() -> None:
    assert [wait_after(n) // timedelta(minutes=1) for n in (1, 2, 3, 6, 7, 1_000)] == [1, 4, 16, 1024, 1440, 1440]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_process_that_ends_after_the_order(scripted, issuer, live, clock, db, monkeypatch) -> None:
    """A certificate may have been given: the next attempt waits, as after any failure."""
    await live("grace.example")
    at_work = issuer(scripted.directory, scripted.ca_file)
    ordered = asyncio.Event()

    async def stall(account, hostname, *_) -> None:
        ordered.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(at_work.issuer._authority._acme, "obtain", stall)
    monkeypatch.setattr(at_work.issuer, "shutdown_timeout", 0.01)
    await at_work.step()
    await ordered.wait()
    await at_work.close()
    row = await row_of(db, "grace.example")
    assert (row.leased_until, row.failures, row.due_at) == (None, 1, clock.now + timedelta(minutes=1))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_name_that_is_gone_before_its_order(scripted, issuer, live, clock, db, monkeypatch) -> None:
    await live("kim.example")
    at_work = issuer(scripted.directory, scripted.ca_file)
    account = at_work.issuer._authority._account

    async def forgotten_meanwhile():
        async with db.write() as tx:
            await store.delete_certificate(tx, "kim.example", clock.now)
        return await account()

    monkeypatch.setattr(at_work.issuer._authority, "_account", forgotten_meanwhile)
    await work(at_work)
    assert "/newAccount" in scripted.requests
    assert "/newOrder" not in scripted.requests
