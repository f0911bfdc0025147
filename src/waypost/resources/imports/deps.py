"""Dependencies of imports, for the command and for the worker."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock, now
from waypost.kit.reserved import INFRASTRUCTURE, RESERVED
from waypost.kit.urls import PrivateNames, Url
from waypost.outbound import DestinationChecker, Outbound, UrlSafety
from waypost.resources.clicks.click_stores import new_clickhouse_store
from waypost.resources.clicks.intake.steps import IntakeSettings
from waypost.resources.clicks.work import intake_settings
from waypost.resources.imports.clicks import ClickWriter, SqlClickWriter
from waypost.resources.links import Routes
from waypost.resources.links.images.media import ImageStore
from waypost.resources.links.work import new_image_store
from waypost.settings import Settings


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    key_ring: KeyRing
    routes: Routes
    check_ip: Callable[[Url], Awaitable[None]]
    """`DestinationChecker.check_ip`: raises NotPublic, without a request or DNS lookup."""
    shared_domain: str
    base_url: str
    reserved: frozenset[str]
    """Slugs that no link may have, in lower case."""
    clock: Clock
    intake: Callable[[], IntakeSettings]
    """How clicks are built. Called when the first are imported, because the countries of addresses take memory."""
    click_writer: ClickWriter
    image_store: ImageStore
    private_names: PrivateNames
    own_hosts: Sequence[str]
    """Hosts of the service itself, without ports."""


def new_deps(settings: Settings, db: Database, outbound: Outbound, key_ring: KeyRing, routes: Routes) -> Deps:
    """`settings`: with the secret key. Call `click_writer.close` at the end."""
    return Deps(
        db=db,
        key_ring=key_ring,
        routes=routes,
        check_ip=DestinationChecker(outbound, UrlSafety()).check_ip,
        shared_domain=settings.shared_domain,
        base_url=settings.base_url,
        reserved=RESERVED if settings.base_host == settings.shared_domain else INFRASTRUCTURE,
        clock=now,
        intake=partial(intake_settings, settings),
        click_writer=_new_click_writer(settings),
        image_store=new_image_store(settings, db, now),
        private_names=outbound.names,
        own_hosts=sorted({urlsplit(f"//{host}").hostname or "" for host in settings.own_hosts} | {settings.cname_host}),
    )


def _new_click_writer(settings: Settings) -> ClickWriter:
    if not settings.clickhouse_url:
        return SqlClickWriter()
    from waypost.resources.imports.clickhouse_clicks import ClickHouseClickWriter  # noqa: PLC0415  # for few

    return ClickHouseClickWriter(new_clickhouse_store(settings))
