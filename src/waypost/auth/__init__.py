"""Who is calling: accounts, plans, API keys, budgets. Knows no HTTP."""

from waypost.auth.account_data import close_account, delete_account_row
from waypost.auth.caller_cache import CallerCache
from waypost.auth.limiter import REQUESTS_PER_MINUTE, UNKNOWN_PER_MINUTE, RateLimiter, RateLimitResult
from waypost.auth.model import (
    SCOPES,
    Account,
    ApiKey,
    Authenticated,
    Caller,
    KeyHolder,
    PasswordClient,
    Plan,
    PlanChoice,
    Scope,
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
from waypost.auth.store import account_id_after, all_account_ids, email_of, find_email, lock_account
from waypost.auth.usage import adjust_image_bytes, adjust_links_count, count_links, image_bytes, links_count_of

__all__ = [
    "REQUESTS_PER_MINUTE",
    "SCOPES",
    "UNKNOWN_PER_MINUTE",
    "Account",
    "ApiKey",
    "Authenticated",
    "Caller",
    "CallerCache",
    "KeyHolder",
    "PasswordClient",
    "Plan",
    "PlanChoice",
    "RateLimitResult",
    "RateLimiter",
    "Scope",
    "account_id_after",
    "adjust_image_bytes",
    "adjust_links_count",
    "all_account_ids",
    "browse_keys",
    "close_account",
    "count_links",
    "create_account",
    "create_key",
    "delete_account_row",
    "email_of",
    "find_account",
    "find_email",
    "find_key",
    "hash_password",
    "image_bytes",
    "is_live",
    "is_usable",
    "links_count_of",
    "list_accounts",
    "list_keys",
    "lock_account",
    "revoke_key",
    "set_plan",
]
