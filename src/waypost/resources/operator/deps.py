"""Dependencies of the operator's pages."""

from dataclasses import dataclass

from waypost.accounts.deps import Deps as AccountDeps
from waypost.resources.clicks.click_store import ClickStore
from waypost.resources.links.deps import Deps as LinksDeps
from waypost.resources.operator.suspension import SuspensionDeps


@dataclass(frozen=True, slots=True)
class Deps:
    account: AccountDeps
    """For reauthentication."""
    suspension: SuspensionDeps
    click_store: ClickStore
    links: LinksDeps
