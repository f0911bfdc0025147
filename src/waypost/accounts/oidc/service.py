"""Who signs in with an identity of the provider, and with which role."""

from functools import partial

import structlog
from sqlalchemy.exc import IntegrityError

from waypost.accounts import emails, store
from waypost.accounts.members import invitation_store, invitations
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Account, AuthenticationResult, Person, ProviderSession, Role
from waypost.accounts.oidc import identities
from waypost.accounts.oidc.deps import Deps
from waypost.accounts.oidc.errors import ProviderUnavailable, SignInRefused
from waypost.accounts.oidc.flow import with_query
from waypost.accounts.oidc.rules import Identity, role_of
from waypost.accounts.oidc.tokens import verify_logout_token
from waypost.accounts.people import audit_entries as person_audit
from waypost.accounts.people import store as people
from waypost.accounts.people import tokens as one_time_tokens
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sign_in import credentials, passkeys
from waypost.database import Tx
from waypost.kit.errors import Invalid, or_not_found
from waypost.kit.ids import new_id

log = structlog.get_logger(__name__)

_MAX_HINT = 4_096  # characters of the ID token that names the session at sign-out
NO_ROLE = "None of your groups may use this service. Ask your administrator to add you to one."
NO_ACCOUNT = "You are not a member of any account. Ask your administrator for an invitation."
NO_OIDC_ACCOUNT = "Single sign-on is not set up completely. Ask your administrator."
NO_OTHER_WAY = "Set a password or add a passkey first. Otherwise you could no longer sign in."
ROLE_BY_GROUPS = "Your groups decide your role, so single sign-on stays connected. Ask an owner to remove you first."
CONNECTED_TO_ANOTHER = "This single sign-on identity belongs to another person."


class NotConnected(Exception):
    """A person has the email of an identity that nobody is connected with. They have to sign in and connect it."""


async def sign_in(deps: Deps, identity: Identity) -> AuthenticationResult:
    """Sign in the person with this identity. A new one joins the account of the setting.

    Raises SignInRefused, NotConnected.
    """
    role = role_of(identity.groups, deps.role_by_group)
    person = await _find_person(deps, identity) or await _create_person(deps, identity, role)
    if deps.role_by_group:
        await _follow_groups(deps, person, role)
    async with deps.db.write() as tx:
        await identities.record_use(tx, person.id, identity.email, deps.clock())
    return AuthenticationResult(person, provider=provider_session(identity))


async def connect(deps: Deps, session: sessions.PersonSession, identity: Identity) -> None:
    """Connect the identity with the session's person, in place of an earlier one. Raises Invalid."""
    passkeys.refuse_unconfirmed(deps, session.person)
    role = role_of(identity.groups, deps.role_by_group)
    if deps.role_by_group and role is None:
        raise Invalid({"body": [NO_ROLE]})
    try:
        async with deps.db.write() as tx:
            await people.lock(tx, session.person.id)
            now = deps.clock()
            await identities.connect(tx, session.person.id, identity.issuer, identity.subject, identity.email, now)
            await sessions.connect(tx, session.id, provider_session(identity))
            ip, details = session.request_ip, {"email": identity.email, "issuer": identity.issuer}
            await person_audit.record(tx, session.person, ip, "identity.connected", now, details=details)
            await emails.notify(tx, emails.identity_connected(deps.base_url, identity.email), session.person, now=now)
    except IntegrityError:
        raise Invalid({"body": [CONNECTED_TO_ANOTHER]}) from None
    if deps.role_by_group:
        await _follow_groups(deps, session.person, role)


async def disconnect(deps: Deps, session: sessions.PersonSession) -> None:
    """Disconnect the person's identity, and end the sessions that it began.

    Raises Invalid if the person would have no other way to sign in, or if their groups decide their role; NotFound if
    they have no identity.
    """
    person, issuer = session.person, deps.provider.client.issuer
    known = await credentials.find(deps, person)
    if not (deps.has_passwords and (known.has_password or known.has_passkey)):
        raise Invalid({"body": [NO_OTHER_WAY]})
    if deps.role_by_group:
        await _refuse_role_by_groups(deps, person)
    async with deps.db.write() as tx:
        await people.lock(tx, person.id)
        subject = or_not_found(await identities.find_subject(tx, person.id, issuer))
        await identities.disconnect(tx, person.id)
        await sessions.end_of_provider(tx, issuer, subject=subject, session_id=None)
        now = deps.clock()
        await person_audit.record(tx, person, session.request_ip, "identity.disconnected", now)
        await emails.notify(tx, emails.identity_disconnected(deps.base_url), person, now=now)


async def _refuse_role_by_groups(deps: Deps, person: Person) -> None:
    """Raise Invalid where the groups decide: without the identity, a lost group would not end anything."""
    account_id = (await _account(deps)).id
    async with deps.db.read() as tx:
        if await memberships.find_by_groups(tx, account_id, person.id):
            raise Invalid({"body": [ROLE_BY_GROUPS]})


async def verify(deps: Deps, session: sessions.PersonSession, identity: Identity) -> None:
    """Record a reauthentication at the provider. Raises SignInRefused, or NotFound if the session has ended."""
    async with deps.db.read() as tx:
        await _require_connected(tx, session.person, identity)
    if deps.role_by_group:
        await _follow_groups(deps, session.person, role_of(identity.groups, deps.role_by_group))
    async with deps.db.write() as tx:
        await people.lock(tx, session.person.id)
        await _require_connected(tx, session.person, identity)  # it may have been disconnected meanwhile
        await sessions.reauthenticate(tx, session, now=deps.clock())
        # the provider may have begun another session
        await sessions.connect(tx, session.id, provider_session(identity))


async def _require_connected(tx: Tx, person: Person, identity: Identity) -> None:
    """Raises SignInRefused."""
    if not await identities.is_connected(tx, person.id, identity.issuer, identity.subject):
        raise SignInRefused("another identity", "You signed in as another person. Try again.")


async def sign_out_url(deps: Deps, session: ProviderSession) -> str | None:
    """Return the page at which the provider ends its session; None if it has none or cannot be reached."""
    try:
        endpoint = (await deps.provider.metadata()).end_session_endpoint
    except ProviderUnavailable as error:
        log.warning("single sign-on provider unavailable", reason=error.reason)
        return None
    if endpoint is None or session.issuer != deps.provider.client.issuer:
        return None
    own = {"client_id": deps.provider.client.id, "post_logout_redirect_uri": f"{deps.base_url}/login"}
    hint = {"id_token_hint": session.id_token} if session.id_token else {}
    return with_query(endpoint, own | hint)


async def end_sessions(deps: Deps, logout_token: str) -> None:
    """Handle a back-channel logout. Raises SignInRefused, ProviderUnavailable."""
    claims = await deps.provider.verify(partial(verify_logout_token, logout_token, now=deps.clock()))
    try:
        async with deps.db.write() as tx:
            await one_time_tokens.use_once(tx, "logout", claims["jti"], now=deps.clock())
            await sessions.end_of_provider(
                tx, deps.provider.client.issuer, subject=claims.get("sub"), session_id=claims.get("sid")
            )
    except IntegrityError:
        raise SignInRefused("jti was used") from None


def provider_session(identity: Identity) -> ProviderSession:
    """Return the session without its ID token if that is too long for a URL."""
    id_token = identity.id_token if len(identity.id_token) <= _MAX_HINT else ""
    return ProviderSession(identity.issuer, identity.subject, identity.session_id, id_token)


async def _find_person(deps: Deps, identity: Identity) -> Person | None:
    async with deps.db.read() as tx:
        return await identities.find_person(tx, identity.issuer, identity.subject)


async def _create_person(deps: Deps, identity: Identity, role: Role | None) -> Person:
    """Create the person if the groups admit them; without roles of groups, if their email is invited.

    Two tabs that finish at once create one. Raises SignInRefused, NotConnected.
    """
    if deps.role_by_group and role is None:
        raise SignInRefused("no group has a role", NO_ROLE)
    now = deps.clock()
    async with deps.db.read() as tx:
        is_taken = await people.find_by_email(tx, identity.email) is not None
        is_invited = any(map(invitations.is_permitted, await invitation_store.list_valid(tx, identity.email, now)))
    if is_taken:
        return await _find_connected(deps, identity)
    if role:
        await _account(deps)
    elif not is_invited:
        raise SignInRefused("nobody joins without an invitation", NO_ACCOUNT)
    person = Person(new_id(), identity.email, identity.name, now, False, now, now)
    try:
        async with deps.db.write() as tx:
            await people.add(tx, person, None)
            await identities.connect(tx, person.id, identity.issuer, identity.subject, identity.email, now)
    except IntegrityError:
        return await _find_connected(deps, identity)
    return person


async def _find_connected(deps: Deps, identity: Identity) -> Person:
    """Return the person whom another tab has just created. Raises NotConnected."""
    person = await _find_person(deps, identity)
    if person is None:
        raise NotConnected
    return person


async def _follow_groups(deps: Deps, person: Person, role: Role | None) -> None:
    """Set the person's role in the account of the setting. Without one, end membership and sessions.

    Raises SignInRefused.
    """
    account_id = (await _account(deps)).id
    async with deps.db.read() as tx:
        if role and await memberships.find_by_groups(tx, account_id, person.id) == role:
            return
    await members.follow_groups(deps, account_id, person, role)
    if role is None:
        async with deps.db.write() as tx:
            await sessions.end_all(tx, person.id)
        raise SignInRefused("no group has a role", NO_ROLE)


async def _account(deps: Deps) -> Account:
    """Return the account that people join. Raises SignInRefused if there is none."""
    async with deps.db.read() as tx:
        account = await store.find_by_email(tx, deps.account_email)
    if account is None:
        log.error("account of WAYPOST_OIDC_ACCOUNT not found", email=deps.account_email)
        raise SignInRefused("the account of the setting does not exist", NO_OIDC_ACCOUNT)
    return account
