"""Which names want a certificate, and what became of it, on both databases."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
import trustme
from resources.domains.certificates.conftest import RING, claim, want
from sqlalchemy import delete, select, text, update

from waypost.commands.secret_rotation import encrypted_columns, rotate
from waypost.database import Database, KeyRing, metadata
from waypost.resources.domains.certificates import queue, set_served, store
from waypost.resources.domains.certificates.authority import UnusableChain, check_chain, renewal_time
from waypost.resources.domains.certificates.contexts import ContextRefresher, TlsContexts
from waypost.resources.domains.certificates.queue import CertificateClaim
from waypost.resources.domains.certificates.store import Failed, Obtained
from waypost.resources.domains.model import acme_accounts, certificates, domains

C = certificates.c
HOST = "go.alice.example"


def chain(*hostnames: str) -> tuple[str, str]:
    """A certificate and its key, in PEM."""
    leaf = trustme.CA().issue_cert(*hostnames)
    return leaf.cert_chain_pems[0].bytes().decode(), leaf.private_key_pem.bytes().decode()


@pytest.fixture(scope="module")
def alices() -> tuple[str, str]:
    return chain(HOST)


async def sweep(db: Database, clock) -> None:
    async with db.write() as tx:
        await store.sweep(tx, clock.now, await store.find_unserved(tx))


async def settle(db: Database, outcome, clock) -> bool:
    async with db.write() as tx:
        return await store.settle(tx, outcome, clock.now)


def obtained(claimed: CertificateClaim, pems: tuple[str, str], clock) -> Obtained:
    end = clock.now + timedelta(days=90)
    ciphertext = RING.encrypt(C.key, claimed.id, pems[1])
    return Obtained(claimed, pems[0], ciphertext, end, clock.now + timedelta(days=60))


async def rows(db: Database) -> dict[str, object]:
    async with db.read() as tx:
        return {row.hostname: row for row in await tx.execute(select(certificates))}


async def test_a_requested_certificate_is_settled(db: Database, live, tls_state, clock, alices) -> None:
    await live(HOST)
    await want(db, clock, HOST)
    assert await tls_state(HOST) == ("pending", False, None)
    [claimed] = await claim(db, clock)
    assert await claim(db, clock) == []  # it is under way
    assert await settle(db, obtained(claimed, alices, clock), clock)
    assert await tls_state(HOST) == ("active", True, None)
    assert await claim(db, clock) == []
    clock.passes(days=60)
    [again] = await claim(db, clock)
    failed = Failed(again, "AuthorityRefused.", clock.now + timedelta(minutes=1))
    assert await settle(db, failed, clock)
    assert await tls_state(HOST) == ("active", True, "AuthorityRefused.")
    assert (await rows(db))[HOST].chain == alices[0]


async def test_a_process_that_died(db: Database, live, clock, alices) -> None:
    """Its attempt is another's when the lease has run out, and then it may not settle any more."""
    await live(HOST)
    await want(db, clock, HOST)
    [first] = await claim(db, clock)
    clock.passes(minutes=4)
    [second] = await claim(db, clock)
    assert not await settle(db, obtained(first, alices, clock), clock)
    assert (await rows(db))[HOST].chain is None
    assert await settle(db, obtained(second, alices, clock), clock)


async def test_only_what_is_served(db: Database, live, clock) -> None:
    """Claims, and those that lost their proof, get none; those of the service itself need no domain."""
    await live("a.example")
    await live("b.example", is_served=False)
    await want(db, clock, "a.example", "b.example", "nobodys.example")
    async with db.write() as tx:
        await store.set_own_hosts(tx, ["app.test"], clock.now)
    assert {each.hostname for each in await claim(db, clock)} == {"a.example", "app.test"}
    clock.passes(minutes=5)
    await sweep(db, clock)
    assert {host for host, row in (await rows(db)).items() if row.due_at} == {"a.example", "app.test"}


async def test_a_few_at_a_time_and_the_longest_waiting_first(db: Database, live, clock) -> None:
    names = [f"{n}.example" for n in range(6)]
    await live(*names)
    for each in names:
        await want(db, clock, each)
        clock.passes(seconds=1)
    assert {each.hostname for each in await claim(db, clock)} == set(names[:4])
    assert {each.hostname for each in await claim(db, clock)} == set(names[4:])


async def test_a_domain_that_goes_down(db: Database, live, tls_state, clock, alices) -> None:
    """The certificate is kept, but neither served nor renewed; live again, it is no reason for another order."""
    await live(HOST)
    await want(db, clock, HOST)
    [claimed] = await claim(db, clock)
    await settle(db, obtained(claimed, alices, clock), clock)
    contexts = TlsContexts(RING, "")
    refresher = ContextRefresher(db, contexts)
    await refresher.refresh()
    assert contexts.find(HOST)
    clock.passes(seconds=1)
    async with db.write() as tx:
        await tx.execute(update(domains).values(is_served=False))
        await store.withdraw(tx, HOST, clock.now)
    row = (await rows(db))[HOST]
    assert (row.due_at, row.chain) == (None, alices[0])
    assert await tls_state(HOST) == ("none", False, None)
    later = TlsContexts(RING, "")  # of a process that begins now
    await ContextRefresher(db, later).refresh()
    await refresher.refresh()
    assert (contexts.find(HOST), later.find(HOST)) == (None, None)
    clock.passes(seconds=1)
    async with db.write() as tx:
        await tx.execute(update(domains).values(is_served=True))
    await want(db, clock, HOST)
    await refresher.refresh()
    assert contexts.find(HOST)
    assert (await rows(db))[HOST].due_at == renewal_time(alices[0])
    assert await tls_state(HOST) == ("active", True, None)

    async with db.write() as tx:
        await store.withdraw(tx, HOST, clock.now)
        await tx.execute(update(domains).values(is_served=False))
    clock.passes(days=91)
    await sweep(db, clock)
    assert (await rows(db))[HOST].key is None
    assert await tls_state(HOST) == ("none", False, None)


async def test_a_domain_that_goes_down_without_a_certificate(db: Database, live, tls_state, clock, alices) -> None:
    await live(HOST)
    await want(db, clock, HOST)
    [claimed] = await claim(db, clock)
    async with db.write() as tx:
        await set_served(tx, HOST, is_served=False, clock=clock)
    assert await tls_state(HOST) == ("none", False, None)
    assert not await settle(db, obtained(claimed, alices, clock), clock)
    async with db.write() as tx:
        await set_served(tx, HOST, is_served=True, clock=clock)
    assert await tls_state(HOST) == ("pending", False, None)
    assert len(await claim(db, clock)) == 1


@pytest.mark.parametrize(
    ("failures", "hours_since", "wait_asked", "due_in"),
    [
        (9, 5, 0, timedelta(0)),
        (4, 0, 0, timedelta(minutes=12)),
        (1, 0, 0, timedelta(minutes=1)),
        (1, 0, 3, timedelta(hours=3)),
    ],
)
async def test_who_asks_for_verification_need_not_wait_long_for_another_attempt(
    db: Database, live, clock, failures: int, hours_since: int, wait_asked: int, due_in: timedelta
) -> None:
    """`wait_asked`: hours that the authority has asked for."""
    await live(HOST)
    await want(db, clock, HOST)
    [claimed] = await claim(db, clock)
    wait = max(queue.wait_after(failures), timedelta(hours=wait_asked))
    await settle(db, Failed(replace(claimed, failures=failures - 1), "Connection refused", clock.now + wait), clock)
    clock.passes(hours=hours_since)
    async with db.write() as tx:
        await store.retry(tx, HOST, clock.now)
        await store.retry(tx, "other.example", clock.now)
    row = (await rows(db))[HOST]
    assert row.due_at == row.try_at == clock.now + due_in
    assert len(await claim(db, clock)) == (due_in == timedelta(0))


async def test_a_deleted_domain(db: Database, live, clock, alices) -> None:
    """The key goes at once, the row when all have seen it; who has the name next begins anew."""
    await live(HOST)
    await want(db, clock, HOST)
    contexts = TlsContexts(RING, "")
    refresher = ContextRefresher(db, contexts)
    await refresher.refresh()
    assert len(contexts) == 0
    [claimed] = await claim(db, clock)
    clock.passes(seconds=1)
    await settle(db, obtained(claimed, alices, clock), clock)
    await refresher.refresh()
    ready = contexts.find(HOST)
    assert ready
    await refresher.refresh()
    assert contexts.find(HOST) is ready  # seen before: nothing is made anew
    clock.passes(seconds=1)
    async with db.write() as tx:
        await store.delete_certificate(tx, HOST, clock.now)
        await tx.execute(delete(domains))
    row = (await rows(db))[HOST]
    assert (row.chain, row.key, row.due_at) == (None, None, None)
    await refresher.refresh()
    assert len(contexts) == 0
    for minutes, left in ((59, 1), (2, 0)):
        clock.passes(minutes=minutes)
        await sweep(db, clock)
        assert len(await rows(db)) == left


async def test_those_that_went_live_without_us(db: Database, live, clock, monkeypatch) -> None:
    monkeypatch.setattr(store, "BATCH_SIZE", 2)
    names = [f"{n}.test" for n in range(3)]
    await live(*names)
    for after, expected in (("", names[:2]), (names[1], names[2:]), (names[2], [])):
        async with db.read() as tx:
            assert await store.find_missing(tx, after) == expected
    await want(db, clock, names[0])
    async with db.read() as tx:
        assert await store.find_missing(tx, "") == names[1:]


async def test_all_are_read_at_the_start(db: Database, live, clock, alices, monkeypatch) -> None:
    monkeypatch.setattr("waypost.resources.domains.certificates.contexts._BATCH_SIZE", 2)
    names = [f"{n}.example" for n in range(5)]
    await live(*names)
    await want(db, clock, *names)
    for each in await claim(db, clock, limit=5):
        await settle(db, obtained(each, alices, clock), clock)
    contexts = TlsContexts(RING, "")
    await ContextRefresher(db, contexts).refresh()
    assert len(contexts) == 5


async def test_keys_move_with_the_secret_key(db: Database, live, clock, alices) -> None:
    assert {each.table for each in encrypted_columns(metadata)} >= {certificates, acme_accounts}
    await live(HOST)
    await want(db, clock, HOST)
    [claimed] = await claim(db, clock)
    await settle(db, obtained(claimed, alices, clock), clock)
    done = await rotate(db, KeyRing(["new", "secret"]), [C.key])
    assert (done.changed, done.unreadable) == (1, [])
    row = (await rows(db))[HOST]
    assert KeyRing(["new"]).decrypt(C.key, row.id, row.key) == alices[1]
    assert alices[1].encode()[30:60] not in row.key


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda pem, key: (pem, chain(HOST)[1]), "belongs to another key"),
        (lambda pem, key: chain("mallory.example"), f"is not for {HOST}"),
        (lambda pem, key: ("-----BEGIN NOTHING-----", key), "is not a PEM certificate chain"),
    ],
    ids=["key", "name", "form"],
)
def test_rejects_unusable_chains(change, text: str, alices, clock) -> None:
    with pytest.raises(UnusableChain, match=text):
        check_chain(*change(*alices), HOST, clock.now)
    assert check_chain(*alices, HOST, clock.now).expires_at > clock.now
    with pytest.raises(UnusableChain, match="has expired"):
        check_chain(*alices, HOST, clock.now + timedelta(days=365 * 1_100))


async def test_a_transaction_that_ends_late(db: Database, live, clock, alices) -> None:
    """It may be older than what was seen; it is found a few looks later."""
    await live("a.example", "b.example")
    await want(db, clock, "a.example", "b.example")
    first, second = await claim(db, clock)
    contexts = TlsContexts(RING, "")
    refresher = ContextRefresher(db, contexts)
    await refresher.refresh()
    clock.passes(seconds=20)
    await settle(db, obtained(first, alices, clock), clock)
    await refresher.refresh()
    clock.passes(seconds=-10)
    await settle(db, obtained(second, alices, clock), clock)
    for _ in range(10):
        await refresher.refresh()
    assert len(contexts) == 2


async def test_a_check_and_an_attempt_that_end_at_once(db: Database, live, clock, alices) -> None:
    await live(HOST)
    await want(db, clock, HOST)
    [claimed] = await claim(db, clock)
    async with db.write() as tx:
        await tx.execute(update(domains).values(is_served=False))
        settling = asyncio.create_task(settle(db, obtained(claimed, alices, clock), clock))
        while db.dialect == "postgresql" and not await waiting(db):
            await asyncio.sleep(0.01)
        await set_served(tx, HOST, is_served=False, clock=clock)
    assert not await settling


async def waiting(db: Database) -> int:
    async with db.read() as tx:
        return await tx.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted"))
