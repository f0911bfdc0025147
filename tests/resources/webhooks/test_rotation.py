"""R12: the encryption key is changed while deliveries run, and none is lost."""

from datetime import timedelta

from people import START, FakeClock
from resources.webhooks.scripted import BACKOFF, Receivers, deliver, deliveries, new_loop, queue_up, subscribe
from sqlalchemy import select, update

from waypost.database import Database, KeyRing
from waypost.kit.signing import find_problem
from waypost.resources.webhooks.model import webhooks

OLD, BOTH, NEW = KeyRing(["old"]), KeyRing(["new", "old"]), KeyRing(["new"])
HOST = "receiver.example"


async def seal_again(db: Database, keys: KeyRing) -> None:
    async with db.write() as tx:
        for row in (await tx.execute(select(webhooks.c.id, webhooks.c.secret))).all():
            ciphertext = keys.encrypt(webhooks.c.secret, row.id, keys.decrypt(webhooks.c.secret, row.id, row.secret))
            await tx.execute(update(webhooks).where(webhooks.c.id == row.id).values(secret=ciphertext))


async def test_deliveries_survive_a_key_rotation(db: Database) -> None:
    clock, receivers = FakeClock(), Receivers()
    several = {f"{number}.example": await subscribe(db, f"{number}.example", keys=OLD) for number in range(5)}
    for host, each in several.items():
        receivers.will(host, 500, 500, 500, 200)  # an attempt under each ring
        await queue_up(db, each)
    rings = [OLD, BOTH, BOTH, NEW]
    for number, (keys, wait) in enumerate(zip(rings, BACKOFF, strict=True)):
        if number == 2:
            await seal_again(db, BOTH)
        await deliver(new_loop(db, receivers, clock, keys=keys))
        clock.move(timedelta(seconds=wait))
    assert {(row.status, row.attempts) for row in await deliveries(db)} == {("delivered", 4)}
    assert len(receivers.sent) == 20
    for each in receivers.sent:
        at = int(each.headers["X-Webhook-Timestamp"])
        assert find_problem(several[each.host].secret, each.headers["X-Signature"], each.body, now=at) is None


async def test_a_process_with_both_keys_reads_what_is_sealed_again_under_it(db: Database) -> None:
    clock, receivers = FakeClock(), Receivers()
    alice = await subscribe(db, HOST, keys=OLD)
    loop = new_loop(db, receivers, clock, keys=BOTH)
    for _ in range(2):
        await queue_up(db, alice)
        await deliver(loop)
        await seal_again(db, BOTH)
    assert {row.status for row in await deliveries(db)} == {"delivered"}


async def test_a_process_without_the_new_key_loses_nothing(db: Database) -> None:
    """It was forgotten when all others were started anew: it postpones them, and who has the key goes on."""
    clock, receivers = FakeClock(), Receivers()
    await queue_up(db, await subscribe(db, HOST, keys=NEW))
    await deliver(new_loop(db, receivers, clock, keys=OLD))
    (row,) = await deliveries(db)
    assert (row.status, row.attempts, receivers.sent) == ("pending", 0, [])
    assert row.next_attempt_at == START + timedelta(minutes=1)
    clock.move(timedelta(minutes=1))
    await deliver(new_loop(db, receivers, clock, keys=BOTH))
    assert [(row.status, row.attempts) for row in await deliveries(db)] == [("delivered", 1)]
