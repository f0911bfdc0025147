"""What a redirect process answers: redirects, probes and ACME challenges. Loads neither API nor dashboard."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.types import ASGIApp, Scope

from waypost.database import Database, KeyRing
from waypost.http.client_address import is_https, peer_address
from waypost.kit.clock import Clock, now
from waypost.kit.errors import Unavailable
from waypost.metrics import ReadGauges
from waypost.probes import new_probe_app, probe_routes
from waypost.redirect import (
    AliasTable,
    ChangeFeed,
    HostTable,
    MissedAddresses,
    NearTable,
    RedirectState,
    RouteTable,
    Spool,
)
from waypost.redirect.asgi import RedirectApp
from waypost.redirect.database_calls import DatabaseCalls, FindPasswordVersion, StoreReport
from waypost.redirect.password_pages import Cookies
from waypost.redirect.report_pages import LinkReport
from waypost.resources import domains
from waypost.resources.clicks.intake.bots import detect_bot
from waypost.resources.domains import tls_api
from waypost.resources.domains.missed.service import count_missed
from waypost.resources.links import aliases
from waypost.resources.links.routes.near_source import NearSource
from waypost.resources.links.routes.source import ForwardDefaults, open_route_source
from waypost.resources.links.visitor_pages.bot_pages import find_bot_page
from waypost.resources.links.visitor_pages.info_pages import find_info_page
from waypost.secret_key import derived_key, derived_keys, secret_text
from waypost.settings import Settings
from waypost.settings.reserved import INFRASTRUCTURE, RESERVED
from waypost.worker.loop import cancel

_HOSTS_IN_MEMORY = 50_000
_MISSED_INTERVAL = 10.0  # seconds

if TYPE_CHECKING:
    from waypost.redirect.click_limits import ClickLimits
    from waypost.redirect.routing.requests import VisitorReader
    from waypost.resources.links.routing.password_check import PasswordChecker
    from waypost.resources.reports.intake import ReportIntake

_READ_TIMEOUT = 2.0  # seconds per statement


@dataclass(frozen=True, slots=True)
class WebProcess:
    """The parts of a web process, valid inside `open_full_app` or `open_redirect_app`."""

    app: RedirectApp
    state: RedirectState
    db: Database
    tasks: "list[asyncio.Task[None]]"
    """Background tasks. A task that ends by itself has failed."""
    read_gauges: Sequence[ReadGauges]


@dataclass(frozen=True, slots=True)
class RedirectParts:
    """What responds to visits in every web process."""

    state: RedirectState
    db: Database
    feed: ChangeFeed
    hosts: HostTable
    tasks: "list[asyncio.Task[None]]"
    read_gauges: Sequence[ReadGauges]

    def app(self, settings: Settings, app: ASGIApp, clock: Clock) -> RedirectApp:
        database = DatabaseCalls(
            preview=partial(find_bot_page, self.db, settings.shared_domain, settings.base_url),
            info_page=partial(find_info_page, self.db, settings.shared_domain, clock),
            app_links=partial(domains.find_app_links, self.db),
            appearance=partial(domains.find_appearance, self.db),
            logo=partial(domains.find_logo, self.db),
            password_version=self._password_finder(settings),
            store_report=self._report_storer(settings, clock),
        )
        cookies = Cookies(derived_keys(settings, "link passwords") if settings.secret_key else [])
        is_secure = lambda scope: is_https(Request(scope), settings.trusted_proxies)  # noqa: E731
        return RedirectApp(self.state, app, database, is_secure, cookies)

    def _password_finder(self, settings: Settings) -> FindPasswordVersion:
        @cache
        def checker() -> "PasswordChecker":
            """Called at the first password: other redirect processes load none of it."""
            from waypost.accounts import open_limiters  # noqa: PLC0415
            from waypost.resources.links.routing.password_check import PasswordChecker  # noqa: PLC0415

            return PasswordChecker(self.db, open_limiters(self.db, settings.data_dir))

        async def find(link: bytes, password: str, scope: Scope) -> int | None:
            return await checker().check(link, password, peer_address(Request(scope), settings.trusted_proxies))

        return find

    def _report_storer(self, settings: Settings, clock: Clock) -> StoreReport:
        @cache
        def intake() -> "ReportIntake":
            """Called at the first report."""
            from waypost.accounts import open_limiters  # noqa: PLC0415
            from waypost.resources.reports.intake import ReportIntake  # noqa: PLC0415

            return ReportIntake(self.db, open_limiters(self.db, settings.data_dir), clock)

        async def store(link: bytes, report: LinkReport, scope: Scope) -> None:
            await intake().store(link, report, peer_address(Request(scope), settings.trusted_proxies))

        return store


@contextlib.asynccontextmanager
async def open_redirect_app(
    settings: Settings,
    *,
    clock: Clock = now,
    time_ns: Callable[[], int] = time.time_ns,
    is_shutting_down: Callable[[], bool] = lambda: False,
) -> AsyncIterator[WebProcess]:
    """Open redirects, probes and ACME challenges, without API and dashboard."""
    async with open_redirect_parts(settings, time_ns) as redirects:
        routes = probe_routes(settings, redirects.db, clock, is_shutting_down)
        if settings.tls:
            routes.append(tls_api.challenge_route(redirects.db))
        app = redirects.app(settings, new_probe_app(routes), clock)
        yield WebProcess(app, redirects.state, redirects.db, redirects.tasks, redirects.read_gauges)


@contextlib.asynccontextmanager
async def open_redirect_parts(settings: Settings, time_ns: Callable[[], int]) -> AsyncIterator[RedirectParts]:
    async with contextlib.AsyncExitStack() as stack:
        db = await stack.enter_async_context(Database(settings.database, read_timeout=_READ_TIMEOUT))
        feed = ChangeFeed(settings.data_dir / "run" / "changes")
        stack.callback(feed.close)
        key_ring = KeyRing.from_setting(secret_text(settings)) if settings.secret_key else None
        defaults = ForwardDefaults(settings.forward_query, settings.forward_path)
        source = open_route_source(db, settings.shared_domain, key_ring, defaults)
        stack.callback(source.close)
        table = RouteTable(
            source, feed, capacity=settings.routes_in_memory, shared_host=settings.shared_domain.encode()
        )
        spool = Spool(settings.data_dir / "spool", limit=settings.spool_limit_mb << 20)
        stack.callback(spool.close)
        hosts = HostTable(domains.HostSource(db, aliases.has_aliases), feed, capacity=_HOSTS_IN_MEMORY)
        alias_table = AliasTable(source.aliases, feed, hosts, table)
        near_source = NearSource(db, settings.shared_domain)
        near = NearTable(
            *(near_source, feed, hosts, table, alias_table),
            shared_host=settings.shared_domain.encode(),
            ignores_case=settings.ignore_case,
        )
        tasks = [asyncio.create_task(source.follow([table, alias_table, hosts, near]))]
        tasks.append(asyncio.create_task(near_source.follow(near)))
        stack.push_async_callback(cancel, tasks)
        state = _redirect_state(settings, db, (table, hosts, alias_table, near), spool, time_ns)
        tasks.append(asyncio.create_task(_count_missed(settings, db, state.missed)))
        yield RedirectParts(state, db, feed, hosts, tasks, [db.gauges, source.gauges, table.gauges])


async def _count_missed(settings: Settings, db: Database, missed: MissedAddresses) -> None:
    while True:
        await asyncio.sleep(_MISSED_INTERVAL)
        found = missed.take()
        if found:
            with contextlib.suppress(Unavailable):  # they are no clicks
                await count_missed(db, now, found, settings.shared_domain)


def _is_bot(user_agent: bytes) -> bool:
    return detect_bot(user_agent) is not None


def _redirect_state(
    settings: Settings,
    db: Database,
    tables: tuple[RouteTable, HostTable, AliasTable, NearTable],
    spool: Spool,
    time_ns: Callable[[], int],
) -> RedirectState:
    return RedirectState(
        *tables,
        spool,
        is_bot=_is_bot,
        shared_host=settings.shared_domain,
        app_host=settings.base_host,
        app_segments={"", *RESERVED},
        all_hosts_segments=INFRASTRUCTURE,
        has_https=settings.base_url.startswith("https:"),
        time_ns=time_ns,
        new_visitor_reader=partial(_new_visitor_reader, settings),
        new_click_limits=partial(_new_click_limits, settings, db),
    )


def _new_visitor_reader(settings: Settings) -> "VisitorReader":
    """Called for the first link with rules or variants: other installations load none of it."""
    from waypost.redirect.routing.requests import VisitorReader  # noqa: PLC0415
    from waypost.visitors.countries import open_countries  # noqa: PLC0415

    key = derived_key(settings, "variants") if settings.secret_key else b""
    return VisitorReader(lambda: open_countries(settings.geoip_database).of, settings.trusted_proxies, key)


def _new_click_limits(settings: Settings, db: Database) -> "ClickLimits":
    """Called for the first visit of a link with a click limit. Its file stays open as long as the process."""
    from waypost.redirect.click_limits import ClickLimits  # noqa: PLC0415
    from waypost.resources.clicks.intake.positions import count_stored, count_stored_and_spooled  # noqa: PLC0415

    spool = settings.data_dir / "spool"
    return ClickLimits(
        settings.data_dir / "run" / "click_counts",
        partial(count_stored, db),
        partial(count_stored_and_spooled, db, spool),
    )
