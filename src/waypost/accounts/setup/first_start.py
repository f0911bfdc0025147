"""The first start creates a person and an account with placeholders, which the owner replaces in set-up: see `setup`.

There is no owner while that person is there and nobody has a way to sign in again.
"""

from typing import NamedTuple
from urllib.parse import urlsplit

from waypost.accounts import emails, service
from waypost.accounts.auth_deps import Deps
from waypost.accounts.keys import store as key_store
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Person, Plan
from waypost.accounts.people import audit_entries as person_audit
from waypost.accounts.people import store as people
from waypost.accounts.people import tokens
from waypost.accounts.roles import SCOPES
from waypost.accounts.sign_in import credentials
from waypost.audit import Actor
from waypost.database import Database, Tx, take_advisory_lock
from waypost.kit.ids import new_id

PLACEHOLDER = "owner@waypost.localhost"
_COMMAND = "waypost serve"


class FirstAccess(NamedTuple):
    """Is shown once."""

    key: str
    sign_in_link: str


async def lock(tx: Tx) -> None:
    """Let the first starts and set-ups of all nodes come one after the other."""
    await take_advisory_lock(tx, "set-up")


async def find_pending(db: Database) -> Person | None:
    """Return the person of the first start while there is no owner."""
    async with db.read() as tx:
        return await find_pending_in(tx)


async def find_pending_in(tx: Tx) -> Person | None:
    person = await people.find_by_email(tx, PLACEHOLDER)  # first: afterwards there is none, and nothing else to ask
    return None if person is None or await credentials.anybody_has_some(tx) else person


async def is_incomplete(tx: Tx, person: Person) -> bool:
    """Return whether this is the person of the first start, without any way to sign in again."""
    return person.email == PLACEHOLDER and (await credentials.find_in(tx, person.id)).is_empty


async def create(deps: Deps, tx: Tx) -> None:
    """Create the person, an operator, and the account, with the name of the host, unless there are people."""
    if not await people.exist(tx):
        now = deps.clock()
        person = Person(new_id(), PLACEHOLDER, urlsplit(deps.base_url).hostname or "", now, True, now, now)
        await people.add(tx, person, None)
        await service.add_account(tx, person, Plan("lifetime", None, None, None))


async def create_access(deps: Deps, tx: Tx) -> FirstAccess | None:
    """Create an API key and a sign-in link, unless the account has a key: it has been shown."""
    await lock(tx)
    person, now = await find_pending_in(tx), deps.clock()
    accounts = await memberships.list_of_person(tx, person.id) if person else []
    if person is None or not accounts or await key_store.list_keys(tx, accounts[0].account.id):
        return None
    actor = Actor.command(accounts[0].account.id, _COMMAND)
    _, key = await service.add_key(tx, actor, "First key", SCOPES, now, created_by=person.id)
    token = await tokens.issue(tx, "sign_in", now=now, person_id=person.id)
    await person_audit.record_command(tx, person, _COMMAND, "sign_in_link.created", now)
    return FirstAccess(key, emails.link(deps.base_url, "sign_in", token))
