"""Who is calling: accounts, plans, API keys, budgets. Knows no HTTP."""

from waypost.auth.callers import Callers
from waypost.auth.limiter import REQUESTS_PER_MINUTE, UNKNOWN_PER_MINUTE, FileLimiter, Limiter, Taken
from waypost.auth.model import (
    SCOPES,
    Account,
    ApiKey,
    Caller,
    KeyHolder,
    Plan,
    PlanChoice,
    Proven,
    Scope,
    Visitor,
    accounts,
)
from waypost.auth.passwords import hash_password
from waypost.auth.rules import is_live, is_usable
from waypost.auth.service import (
    browse_keys,
    create_account,
    create_key,
    find_account,
    find_key,
    list_accounts,
    list_keys,
    revoke_key,
    set_plan,
)
from waypost.auth.store import hold_account

__all__ = [
    "REQUESTS_PER_MINUTE",
    "SCOPES",
    "UNKNOWN_PER_MINUTE",
    "Account",
    "ApiKey",
    "Caller",
    "Callers",
    "FileLimiter",
    "KeyHolder",
    "Limiter",
    "Plan",
    "PlanChoice",
    "Proven",
    "Scope",
    "Taken",
    "Visitor",
    "accounts",
    "browse_keys",
    "create_account",
    "create_key",
    "find_account",
    "find_key",
    "hash_password",
    "hold_account",
    "is_live",
    "is_usable",
    "list_accounts",
    "list_keys",
    "revoke_key",
    "set_plan",
]
