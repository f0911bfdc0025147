"""Dependencies of the operator's pages."""

from dataclasses import dataclass

from waypost.accounts.deps import Deps as AccountDeps
from waypost.context import Context


@dataclass(frozen=True, kw_only=True)
class Deps(Context):
    account: AccountDeps
    """For reauthentication."""
