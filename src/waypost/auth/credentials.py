"""Which credentials a person has, for the pages that ask for one of them."""

from typing import NamedTuple

from sqlalchemy import bindparam, exists, select

from waypost.auth.deps import Deps
from waypost.auth.model import Person, people
from waypost.auth.passkeys import passkeys
from waypost.auth.second_factor import store as second_factors


class Credentials(NamedTuple):
    has_password: bool
    has_passkey: bool
    has_second_factor: bool


_FIND = select(
    people.c.password_hash.is_not(None),
    exists().where(passkeys.c.person_id == people.c.id),
    second_factors.is_on_for(people.c.id),
).where(people.c.id == bindparam("person_id"))


async def find(deps: Deps, person: Person) -> Credentials:
    async with deps.db.point_read() as point_read:
        row = (await point_read.execute(_FIND, {"person_id": person.id})).one_or_none()
    return Credentials(*row) if row else Credentials(False, False, False)
