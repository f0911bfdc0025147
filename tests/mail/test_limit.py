"""Limits of emails to one address (R36)."""

import asyncio
from datetime import timedelta

import pytest
from people import FakeClock
from sqlalchemy import func, select

from waypost import mail
from waypost.database import Database
from waypost.mail.queue import MailKind, mail_rate_limits, mailbox
from waypost.worker.jobs import jobs

ADA = "ada@example.com"


async def send(db: Database, clock: FakeClock, to: str = ADA, kind: MailKind = "requested") -> bool:
    async with db.write() as tx:
        return await mail.send_later(tx, kind, to=to, subject="s", text="t", now=clock(), owner_id=None)


async def queued(db: Database) -> int:
    async with db.read() as tx:
        return await tx.scalar(select(func.count()).select_from(jobs)) or 0


async def test_three_an_hour_and_six_a_day(db: Database) -> None:
    clock = FakeClock()
    assert [await send(db, clock) for _ in range(5)] == [True, True, True, False, False]
    clock.move(timedelta(minutes=59))
    assert not await send(db, clock)
    clock.move(timedelta(minutes=1))
    assert [await send(db, clock) for _ in range(4)] == [True, True, True, False]
    clock.move(timedelta(hours=22))
    assert not await send(db, clock)
    clock.move(timedelta(hours=1))  # the first three are a day old
    assert [await send(db, clock) for _ in range(4)] == [True, True, True, False]
    assert await queued(db) == 9


async def test_kinds_and_addresses_have_budgets_of_their_own(db: Database) -> None:
    clock = FakeClock()
    while await send(db, clock):
        pass
    assert [await send(db, clock, kind="security") for _ in range(4)] == [True, True, True, False]
    assert await send(db, clock, kind="service")
    assert await send(db, clock, "bob@example.com")


async def test_the_same_mailbox_by_other_spellings(db: Database) -> None:
    clock = FakeClock()
    sent = [await send(db, clock, each) for each in (ADA, "ADA@Example.com", "ada+1@example.com", "ada+2@example.com")]
    assert sent == [True, True, True, False]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("Ada+news+x@Example.COM", "ada@example.com"),
        ("+x@example.com", "+x@example.com"),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("ada@xn--bcher-kva.example", "ada@xn--bcher-kva.example"),
        ("ada@" + "x" * 64 + ".example", "ada@" + "x" * 64 + ".example"),
    ],
)
def test_a_mailbox(address: str, expected: str) -> None:
    assert mailbox(address) == expected


async def test_what_is_not_committed_is_not_counted(db: Database) -> None:
    clock = FakeClock()
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            async with db.write() as tx:
                await mail.send_later(tx, "requested", to=ADA, subject="s", text="t", now=clock(), owner_id=None)
                raise ZeroDivisionError
    assert await send(db, clock)


async def test_mails_at_the_same_moment_count_each_other(db: Database) -> None:
    clock = FakeClock()
    assert sum(await asyncio.gather(*(send(db, clock) for _ in range(10)))) == mail.MAX_PER_HOUR
    assert await queued(db) == mail.MAX_PER_HOUR


async def test_what_is_kept_is_no_address_and_goes_after_a_day(db: Database) -> None:
    clock = FakeClock()
    for n in range(5):
        await send(db, clock, f"{n}@example.com")
    clock.move(timedelta(days=1))
    await send(db, clock)
    async with db.read() as tx:
        [row] = (await tx.execute(select(mail_rate_limits))).all()
    assert "@" not in str(row)
