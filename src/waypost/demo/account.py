"""Creates and removes the demo account, through the functions that the API, the dashboard and the worker call.

Visits go through the drainer, so that clicks, statistics and counters are exact.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from uuid import UUID

from waypost import accounts
from waypost.accounts.auth_deps import new_deps as new_auth_deps
from waypost.accounts.data.deletion import AccountDeletion
from waypost.accounts.sign_in import service as sign_in
from waypost.composition import new_context
from waypost.database import Database
from waypost.demo.content import SHARES, TAGS, UTM_TEMPLATES, WEBHOOKS
from waypost.demo.links import KnownDestinations, add_domains, add_links, add_pixels
from waypost.demo.traffic import country_of_address, visits
from waypost.kit.clock import Clock
from waypost.kit.errors import Problems, WaypostError
from waypost.kit.urls import Url
from waypost.outbound import UrlSafety
from waypost.packages import RESOURCES
from waypost.redirect import ChangeFeed, Spool
from waypost.redirect.spool import Visit, encode
from waypost.resources import webhooks
from waypost.resources.clicks.intake.build import IntakeSettings, build_click, intake_settings
from waypost.resources.clicks.intake.record_events import record_events
from waypost.resources.clicks.store import ClickStore
from waypost.resources.links import Link, domain_detach, store
from waypost.resources.links.resource import new_deps as new_link_deps
from waypost.resources.links.schemas import to_json
from waypost.resources.links.tags import service as tags
from waypost.resources.links.tags.schemas import NewTag
from waypost.resources.qrcodes.deps import Deps as QrCodesDeps
from waypost.resources.qrcodes.image_urls import Urls
from waypost.resources.shares import service as shares
from waypost.resources.shares.schemas import NewShare
from waypost.resources.utm_templates import service as utm_templates
from waypost.resources.utm_templates.schemas import NewUtmTemplate
from waypost.resources.webhooks import service as webhook_service
from waypost.resources.webhooks import store as webhook_store
from waypost.resources.webhooks.deps import Deps as WebhooksDeps
from waypost.resources.webhooks.model import MAX_ATTEMPTS
from waypost.resources.webhooks.receiver_checker import ReceiverChecker
from waypost.resources.webhooks.schemas import NewWebhook
from waypost.secret_key import derived_keys
from waypost.settings import Settings
from waypost.worker import jobs

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
    intake = replace(intake_settings(settings), trusted_proxies=(), country_of_address=country_of_address)
    async with AsyncExitStack() as stack:
        context = new_context(settings, db, feed.publish, lambda: now)
        stack.push_async_callback(context.click_store.close)
        deps = new_link_deps(settings, context, KnownDestinations(context.outbound, UrlSafety()))
        stack.callback(deps.images.close)
        codes = QrCodesDeps(**vars(context), urls=Urls(context.base_url, derived_keys(settings, "qrcodes")))
        await add_domains(db, account.id, now)
        for name, color in TAGS.items():
            await tags.create(deps, caller, NewTag(name=name, color=color), Problems())
        for template in UTM_TEMPLATES:
            await utm_templates.create(context, caller, NewUtmTemplate(**template), Problems())
        added = await add_links(deps, codes, caller, await add_pixels(context, caller), random)
        all_visits = visits([visited for _, visited in added], now, seed, volume)
        count = await _store(context.click_store, db, all_visits, intake)
        recent = [link for link, _ in added if link.created_at > now - timedelta(days=28)]  # the log keeps 30 days
        for share in SHARES:
            await shares.create(context, caller, NewShare(**share, embed_origins=[context.base_url]), Problems())
        webhooks_deps = WebhooksDeps(**vars(context), receiver_checker=_AnyReceiver(context.outbound))
        await _add_webhooks(webhooks_deps, caller, recent, all_visits[-150:], intake)
    owner = await accounts.get_person(db, EMAIL)
    _, key = await accounts.create_key(
        db, account_id=account.id, name="Demo", scopes=accounts.SCOPES, now=now, created_by=owner.id
    )
    sign_in_link = await sign_in.create_sign_in_link(new_auth_deps(settings, db, lambda: now), owner.id)
    return Created(sign_in_link, key, len(added), count)


async def remove(settings: Settings, db: Database, feed: ChangeFeed, *, clock: Clock) -> None:
    """Delete the account and all of its rows, also those that others keep, such as slugs. Raises NoDemo."""
    if not await _exists(db):
        raise NoDemo
    context = new_context(settings, db, feed.publish, clock)
    try:
        with accounts.invalidating_callers(db):
            await AccountDeletion(context, RESOURCES).delete_now(ACCOUNT_ID)
    finally:
        await context.click_store.close()
    async with db.write() as tx:
        await store.delete_slugs(tx, ACCOUNT_ID)
        await jobs.delete_jobs(tx, domain_detach.JOB, ACCOUNT_ID)  # its links are deleted


async def _exists(db: Database) -> bool:
    async with db.read() as tx:
        return await accounts.find_email(tx, ACCOUNT_ID) is not None


async def _store(click_store: ClickStore, db: Database, all_visits: list[Visit], intake: IntakeSettings) -> int:
    """Drain the visits from a spool of their own, also while the worker drains others. Return the number stored."""
    with TemporaryDirectory(prefix="waypost-demo-") as name:
        directory = Path(name)
        spool = Spool(directory, limit=1 << 40)
        spool.append(b"".join(map(encode, all_visits)))
        spool.close()
        async with AsyncExitStack() as stack:
            drainer = click_store.new_drainer(db, directory, intake)
            stack.push_async_callback(drainer.close)
            while await drainer.step():
                pass
            await drainer.remove_drained()
            return drainer.drained_clicks


class _AnyReceiver(ReceiverChecker):
    """Accepts every host without looking it up."""

    async def check(self, url: Url, *, account: UUID) -> None:
        pass


async def _add_webhooks(
    deps: WebhooksDeps,
    caller: accounts.Caller,
    links: Sequence[Link],
    all_visits: Sequence[Visit],
    intake: IntakeSettings,
) -> None:
    """Add webhooks and events of `links` and `all_visits`. The last webhook fails. Nothing is sent."""
    new = (NewWebhook(**each) for each in WEBHOOKS)
    created = [(await webhook_service.create(deps, caller, each, Problems()))[0] for each in new]
    clicks = [build_click(visit, caller.account.id.bytes, intake) for visit in all_visits]
    async with deps.db.write() as tx:
        for link in links:
            at = link.created_at
            data = to_json(link, deps)
            await webhooks.record(tx, webhooks.WebhookEvent("link.created", link.account_id, link.id, at, data))
        await record_events(tx, clicks, intake, now=deps.clock())
        delivered = {"attempts": 1, "response_status": 200, "response_body": '{"received":true}'}
        gone = {"attempts": MAX_ATTEMPTS, "response_status": 503, "response_body": "The warehouse has moved."}
        *working, failing = created
        for webhook in working:
            await webhook_store.end_deliveries(tx, webhook.id, status="delivered", **delivered)
        error = "answered 503: The warehouse has moved."
        await webhook_store.end_deliveries(tx, failing.id, status="failed", error=error, **gone)
