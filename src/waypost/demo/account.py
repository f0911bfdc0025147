"""Creates and removes the demo account, through the functions that the API, the dashboard and the worker call.

Visits go through the drainer, so that clicks, statistics and counters are exact. Webhooks are added after them.
"""

from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from uuid import UUID

from waypost import accounts
from waypost.accounts.auth_deps import new_deps as new_auth_deps
from waypost.accounts.data.deletion import AccountDeletion
from waypost.accounts.sign_in import service as sign_in
from waypost.database import Database, KeyRing, Tx
from waypost.demo.deliveries import AnyEndpoint, add_webhooks
from waypost.demo.links import add_domains, add_links, add_pixels, new_link_deps
from waypost.demo.traffic import country_of_address, visits
from waypost.kit.clock import Clock
from waypost.kit.errors import WaypostError
from waypost.outbound import Outbound
from waypost.redirect import ChangeFeed, Spool
from waypost.redirect.spool import Visit, encode
from waypost.resources.clicks.click_stores import new_click_store
from waypost.resources.clicks.intake.steps import IntakeSettings
from waypost.resources.clicks.work import intake_settings, new_drainer
from waypost.resources.links import Routes, slug_store
from waypost.resources.links.work import new_image_store
from waypost.resources.webhooks.deps import Deps as WebhooksDeps
from waypost.secret_key import secret_text
from waypost.settings import Settings
from waypost.wiring import domain_deps

ACCOUNT_ID = UUID("00000000-0000-7000-8000-000064656d6f")
"""Marks the account. No other account gets this id, whatever its email: theirs begin with the time."""
EMAIL = "demo@larkspur.example"


class DemoExists(WaypostError):
    """There is a demo account already. To create it again, first run: waypost demo --remove"""


class NoDemo(WaypostError):
    """There is no demo account. Create it with: waypost demo"""


@dataclass(frozen=True, slots=True)
class Created:
    sign_in_link: str
    key: str
    links: int
    visits: int


async def create(
    settings: Settings, db: Database, feed: ChangeFeed, *, now: datetime, seed: int, volume: float = 1.0
) -> Created:
    """Create the account with its data, which is the same for the same time and seed, except for ids and secrets.

    `settings`: with the secret key. `volume`: factor of the number of visits. Raises DemoExists, and Conflict if an
    account has the email or a domain.
    """
    if await _exists(db):
        raise DemoExists
    account = await accounts.create_account(
        db, email=EMAIL, name="Larkspur Outdoor", plan="lifetime", now=now, trial_days=0, account_id=ACCOUNT_ID
    )
    caller, random = accounts.ProcessCaller(account, "waypost demo"), Random(seed)  # noqa: S311
    key_ring = KeyRing.from_setting(secret_text(settings))
    deps = new_link_deps(settings, db, Routes(feed.publish, lambda: now), now)
    try:
        await add_domains(db, account.id, now)
        added = await add_links(deps, settings, caller, await add_pixels(deps, key_ring, caller), random)
    finally:
        deps.images.close()
    intake = replace(intake_settings(settings), trusted_proxies=(), country_of_address=country_of_address)
    all_visits = visits([visited for _, visited in added], now, seed, volume)
    count = await _store(settings, db, all_visits, intake)
    webhooks_deps = WebhooksDeps(db, AnyEndpoint(Outbound()), key_ring, settings.base_url, lambda: now)
    links = [link for link, _ in added]
    await add_webhooks(webhooks_deps, caller, links, all_visits, intake=intake, shared_domain=settings.shared_domain)
    owner = await accounts.get_person(db, EMAIL)
    _, key = await accounts.create_key(
        db, account_id=account.id, name="Demo", scopes=accounts.SCOPES, now=now, created_by=owner.id
    )
    sign_in_link = await sign_in.create_sign_in_link(new_auth_deps(settings, db, lambda: now), owner.id)
    return Created(sign_in_link, key, len(links), count)


async def remove(settings: Settings, db: Database, feed: ChangeFeed, *, clock: Clock) -> None:
    """Delete the account and all of its rows, also those that others keep, such as slugs. Raises NoDemo."""
    if not await _exists(db):
        raise NoDemo

    async def detach_links(tx: Tx, account_id: UUID, domain_id: UUID) -> None:
        """Do nothing: the links are deleted before their domains."""

    click_store = new_click_store(settings)
    routes = Routes(feed.publish, clock)
    deletion = AccountDeletion(
        db,
        routes,
        replace(domain_deps(settings, db, routes, clock), detach_links=detach_links),
        new_image_store(settings, db, clock),
        click_store,
        clock,
    )
    try:
        with accounts.invalidating_callers(db):
            await deletion.delete_now(ACCOUNT_ID)
    finally:
        await click_store.close()
    async with db.write() as tx:
        await slug_store.delete_slugs(tx, ACCOUNT_ID)


async def _exists(db: Database) -> bool:
    async with db.read() as tx:
        return await accounts.find_email(tx, ACCOUNT_ID) is not None


async def _store(settings: Settings, db: Database, all_visits: list[Visit], intake: IntakeSettings) -> int:
    """Drain the visits from a spool of their own, also while the worker drains others. Return the number stored."""
    with TemporaryDirectory(prefix="waypost-demo-") as name:
        directory = Path(name)
        spool = Spool(directory, limit=1 << 40)
        spool.append(b"".join(map(encode, all_visits)))
        spool.close()
        async with AsyncExitStack() as stack:
            drainer = new_drainer(settings, db, directory, intake, stack)
            while await drainer.step():
                pass
            await drainer.remove_drained()
            return drainer.drained_clicks
