"""Who is calling: people, accounts and their members, API keys, rate limits. Does not depend on HTTP."""

from waypost.accounts.keys.caller_cache import CallerCache, changing_callers, invalidating_callers
from waypost.accounts.limits.limiter import REQUESTS_PER_MINUTE, UNKNOWN_PER_MINUTE, RateLimiter, RateLimitResult
from waypost.accounts.limits.limiters import RateLimiters, open_limiters, rate_limit_steps
from waypost.accounts.model import (
    Account,
    ApiCaller,
    ApiKey,
    AuthenticationResult,
    Caller,
    Person,
    Plan,
    PlanChoice,
    ProcessCaller,
    SignInClient,
)
from waypost.accounts.roles import SCOPES, Scope
from waypost.accounts.service import (
    create_account,
    create_key,
    delete_account_row,
    get_account,
    get_key,
    get_person,
    list_accounts,
    list_keys,
    mark_account_deleted,
    revoke_key,
    set_plan,
)
from waypost.accounts.sign_in.passwords import hash_password
from waypost.accounts.sign_in.passwords import verify as verify_password
from waypost.accounts.store import (
    add_label_change,
    adjust_image_bytes,
    adjust_links_count,
    count_image_bytes,
    count_label_changes,
    count_links,
    email_subquery,
    find_account,
    find_email,
    find_next_account_id,
    find_required_factor,
    links_count_subquery,
    lock_account,
    select_account_ids,
)
