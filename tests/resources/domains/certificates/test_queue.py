"""The queue of orders: no account delays others, exhausts the limits, or resets a wait by registering again."""

from datetime import timedelta

import pytest
from resources.domains.certificates.conftest import LEASE, Certification, Clock, claim, domain, row_of, want, work
from sqlalchemy import delete, insert, select, update

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.outbound.acme_problems import AuthorityRefused
from waypost.resources.domains.certificates import queue, set_served, store
from waypost.resources.domains.certificates.issuer import wait_after
from waypost.resources.domains.certificates.store import Failed
from waypost.resources.domains.model import acme_orders, certificates, domains

C = certificates.c
HOST = "x.evil.example"


class Refusing:
    """An authority that has no certificate for anybody."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    async def obtain(self, hostname: str, ordering) -> None:
        await ordering()
        self.requests.append(hostname)
        raise AuthorityRefused("No.", kind="connection")


async def change(db: Database, hostname: str, **values: object) -> None:
    async with db.write() as tx:
        await tx.execute(update(certificates).where(C.hostname == hostname).values(values))


async def order(db: Database, clock: Clock, claimed: queue.CertificateClaim) -> bool:
    async with db.write() as tx:
        return await queue.begin_order(tx, claimed, clock.now, clock.now + wait_after(claimed.failures + 1))


async def test_turns(db: Database, live, clock: Clock) -> None:
    many, two = [f"m{n}.example" for n in range(9)], ["retry.example", "renewal.example"]
    await live(*many, "soon.example", account_id=new_id())
    await live("one.example", *two)
    await want(db, clock, *many, "soon.example", *two)
    end = clock.now + queue.SOON
    await change(db, "soon.example", chain="c", expires_at=end)
    await change(db, "renewal.example", chain="c", expires_at=end + timedelta(days=1))
    await change(db, "retry.example", failures=1)
    clock.passes(seconds=1)
    await want(db, clock, "one.example")
    async with db.write() as tx:
        await store.set_own_hosts(tx, ["app.test", "go.test"], clock.now)
    turns = [each.hostname for _ in range(10) for each in await claim(db, clock, limit=1)]
    assert turns == ["app.test", "go.test", "soon.example", "m0.example", "renewal.example", "one.example", two[0]]
    assert await claim(db, clock, limit=9) == []  # of the one account, two are under way
    clock.passes(minutes=5)
    assert len(await claim(db, clock, limit=99)) == 7


async def test_an_account_s_orders(db: Database, live, clock: Clock) -> None:
    """What is counted is orders: what came to none is not, nor are renewals and the service's own names."""
    names, account = [f"n{n:02}.example" for n in range(60)], new_id()
    await live(*names, "renewal.example", "down.example", account_id=account)
    await want(db, clock, *names)

    async def orders() -> int:
        placed = 0
        while claimed := await claim(db, clock, limit=4):
            for each in claimed:
                assert await order(db, clock, each)
                async with db.write() as tx:
                    assert await store.settle(tx, Failed(each, "No.", clock.now + timedelta(days=9)), clock.now)
            placed += len(claimed)
        return placed

    [first, _] = await claim(db, clock)
    async with db.write() as tx:
        await queue.release(tx, [first])
    clock.passes(minutes=5)
    assert await orders() == 20
    await live("another.example")
    await want(db, clock, "another.example", "renewal.example")
    await change(db, "renewal.example", chain="c", expires_at=clock.now + timedelta(days=30))
    async with db.write() as tx:
        await store.set_own_hosts(tx, ["app.test"], clock.now)
    assert await orders() == 3
    clock.passes(minutes=59)
    assert await orders() == 0
    for placed in (20, 10, 0):
        clock.passes(minutes=61)
        assert await orders() == placed
    clock.passes(days=1)
    assert await orders() == 10
    clock.passes(days=2)
    async with db.write() as tx:
        await store.sweep(tx, clock.now, [])
        assert (await tx.execute(select(acme_orders))).all() == []


async def test_registering_again_does_not_shorten_the_wait(db: Database, clock: Clock, tls_state) -> None:
    """Delete and register, or down and up: the name waits as long as it would have."""
    authority = Refusing()
    issuer = Certification(db, authority, clock)
    begin = clock.now
    for n in range(80):
        async with db.write() as tx:
            await tx.execute(insert(domains), domain(HOST, clock.now))
            await set_served(tx, HOST, is_served=True, clock=clock)
        clock.passes(seconds=2)
        await work(issuer)
        async with db.write() as tx:
            await set_served(tx, HOST, is_served=n % 2 == 0, clock=clock)
            await set_served(tx, HOST, is_served=True, clock=clock)
        await work(issuer)
        state = await tls_state(HOST)
        async with db.write() as tx:
            await tx.execute(delete(domains))
            await store.delete_certificate(tx, HOST, clock.now)
        clock.passes(seconds=8)
    assert clock.now - begin > timedelta(minutes=13)
    assert len(authority.requests) == 3  # now, after 1 minute, and after 4 more
    row = await row_of(db, HOST)
    assert row.failures == 3
    assert state == ("failed", False, store.RECENTLY_FAILED.format(row.try_at))

    for hours, is_kept in ((3, True), (21, True), (2, False)):  # of which the wait was a quarter of one
        clock.passes(hours=hours)
        async with db.write() as tx:
            await store.sweep(tx, clock.now, [])
        assert (await row_of(db, HOST) is not None) == is_kept


async def test_old_failures_count_no_more(db: Database, live, clock: Clock) -> None:
    await live(HOST)
    await want(db, clock, HOST)
    [claimed] = await claim(db, clock)
    assert await order(db, clock, claimed)
    async with db.write() as tx:
        await store.withdraw(tx, HOST, clock.now)
    clock.passes(hours=25)
    await want(db, clock, HOST)
    assert [each.failures for each in await claim(db, clock)] == [0]


async def test_an_attempt_that_is_cut_off(db: Database, live, clock: Clock) -> None:
    """Has failed if anything was ordered, whether its process had time to say so or not."""
    await live(HOST)
    await want(db, clock, HOST)
    [first] = await claim(db, clock)
    async with db.write() as tx:
        await queue.release(tx, [first])
    [second] = await claim(db, clock)
    assert (second.failures, await order(db, clock, second)) == (0, True)
    async with db.write() as tx:
        await queue.release(tx, [second])
    assert await claim(db, clock) == []
    clock.passes(minutes=1)
    [third] = await claim(db, clock)
    assert (third.failures, await order(db, clock, third)) == (1, True)
    clock.passes(minutes=3, seconds=59)
    assert await claim(db, clock) == []
    clock.passes(seconds=2)
    [fourth] = await claim(db, clock)
    assert fourth.failures == 2
    async with db.write() as tx:
        await store.delete_certificate(tx, HOST, clock.now)
    assert not await order(db, clock, fourth)
    assert (await row_of(db, HOST)).failures == 2


async def test_a_domain_of_the_service_s_own_name(db: Database, live, clock: Clock) -> None:
    """Its account had it before it was: goes down, and is deleted, without the certificate."""
    await live(HOST)
    async with db.write() as tx:
        await store.set_own_hosts(tx, [HOST], clock.now)
    await change(db, HOST, chain="c", expires_at=clock.now + timedelta(days=9), due_at=clock.now)
    async with db.write() as tx:
        await store.withdraw(tx, HOST, clock.now)
        await tx.execute(delete(domains))
        await store.delete_certificate(tx, HOST, clock.now)
    assert (await row_of(db, HOST)).chain == "c"
    assert [each.hostname for each in await claim(db, clock)] == [HOST]
    clock.passes(seconds=LEASE.total_seconds())
    async with db.write() as tx:
        await store.set_own_hosts(tx, [], clock.now)
    assert await claim(db, clock) == []


async def test_two_who_choose_the_same(db: Database, live, clock: Clock) -> None:
    await live(HOST)
    await want(db, clock, HOST)
    async with db.read() as tx:
        chosen = await queue.choose(tx, clock.now, 4)
    assert len(await claim(db, clock)) == 1
    async with db.write() as tx:
        assert await queue.claim(tx, chosen, now=clock.now, lease=LEASE) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_very_many_that_went_live_without_us(db: Database, clock: Clock) -> None:
    """No writer waits for all of them, and those that are known already do not wait for the rest."""
    names, authority = [f"d{n:04}.example" for n in range(120)], Refusing()
    async with db.write() as tx:
        await tx.execute(insert(domains), [domain(each, clock.now) for each in names])
    certification = Certification(db, authority, clock)
    known = []
    for _ in range(3):
        assert await certification.sweep.step() == (len(known) < 2)
        assert await certification.loop.step()
        async with db.read() as tx:
            known.append(len((await tx.execute(select(C.id))).all()))
    assert known == [50, 100, 120]
    assert authority.requests
    await certification.close()
