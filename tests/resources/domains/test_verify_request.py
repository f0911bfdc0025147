"""POST /v1/domains/{id}/verify: what it asks for. The check itself is a worker's."""

from datetime import timedelta

import pytest
from resources.domains.room import Room


async def test_it_works(room: Room) -> None:
    made = await room.make()
    room.clock.move(timedelta(minutes=1))
    answer = await room.ask("POST", f"/{made['id']}/verify")
    assert answer.status_code == 202
    assert answer.json()["data"] == made | {"status": "verifying", "updated_at": "2030-01-01T12:01:00.000000Z"}
    assert (await room.find(made)).json() == answer.json()
    assert (await room.row(made)).check_at == room.clock()
    assert room.told == []


async def test_asking_again_leaves_the_check_under_way_alone(room: Room) -> None:
    made = await room.make()
    first = await room.ask("POST", f"/{made['id']}/verify")
    due, lease = room.clock(), room.clock() + timedelta(minutes=1)
    await room.set(made, leased_until=lease)
    room.clock.move(timedelta(seconds=5))
    again = await room.ask("POST", f"/{made['id']}/verify")
    assert (again.status_code, again.json()) == (202, first.json())
    row = await room.row(made)
    assert (row.check_at, row.leased_until) == (due, lease)


@pytest.mark.parametrize("status", ["verified", "failed"])
async def test_what_was_checked_is_checked_again(room: Room, status: str) -> None:
    """A live one stays so, and what was found last is shown meanwhile."""
    made, at = await room.make(), room.clock()
    is_live = status == "verified"
    await room.set(
        made, status=status, is_live=is_live, error="No record.", failures=1, check_at=at + timedelta(days=1)
    )
    shown = (await room.ask("POST", f"/{made['id']}/verify")).json()["data"]
    assert (shown["status"], shown["error"]) == ("verifying", "No record.")
    row = await room.row(made)
    assert (row.is_live, row.check_at, row.failures) == (is_live, at, 1)


async def test_another_account_s_is_not_there(room: Room) -> None:
    made = await room.make()
    assert (await room.ask("POST", f"/{made['id']}/verify", room.bob)).status_code == 404
    assert (await room.ask("POST", "/1/verify")).status_code == 404
    assert (await room.find(made)).json()["data"] == made
