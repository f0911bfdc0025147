"""Dependencies of imports, for the command and for the process of a turn."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from waypost.context import Context
from waypost.outbound import DestinationChecker
from waypost.resources.clicks.backends.sql import SqlClickStore
from waypost.resources.clicks.intake.build import IntakeSettings, intake_settings
from waypost.resources.clicks.store import ClickStore
from waypost.resources.imports.clicks import ClickWriter, SqlClickWriter
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.resources.clicks.backends.clickhouse import ClickHouseStore


@dataclass(frozen=True, kw_only=True)
class Deps(Context):
    destination_checker: DestinationChecker
    intake: Callable[[], IntakeSettings]
    """How clicks are built. Called when the first are imported, because the countries of addresses take memory."""
    click_writer: ClickWriter


def new_deps(settings: Settings, context: Context, checker: DestinationChecker) -> Deps:
    """`settings`: with the secret key. Close its `click_store` at the end."""
    return Deps(
        **vars(context),
        destination_checker=checker,
        intake=partial(intake_settings, settings),
        click_writer=_new_click_writer(context.click_store),
    )


def _new_click_writer(store: ClickStore) -> ClickWriter:
    if isinstance(store, SqlClickStore):
        return SqlClickWriter()
    from waypost.resources.imports.clickhouse_clicks import ClickHouseClickWriter  # noqa: PLC0415  # for few

    return ClickHouseClickWriter(cast("ClickHouseStore", store))
