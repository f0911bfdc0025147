"""Checks of `waypost doctor` for single sign-on."""

from waypost.accounts import store
from waypost.accounts.oidc.deps import new_provider
from waypost.accounts.oidc.errors import ProviderUnavailable
from waypost.accounts.rules import normalize_email
from waypost.database import Database
from waypost.installation import Finding
from waypost.kit.clock import Clock
from waypost.kit.errors import Unavailable
from waypost.settings import Settings

_CHECK = "single sign-on"


async def check_oidc(settings: Settings, now: Clock) -> Finding:
    """Load the provider's metadata and keys, as the first sign-in does."""
    try:
        provider = new_provider(settings, now)
        key_count = await provider.count_keys()
    except ProviderUnavailable as error:
        advice = "Check WAYPOST_OIDC_ISSUER and WAYPOST_OUTBOUND_CA_FILE, and that this machine reaches the provider."
        return Finding(_CHECK, "failed", error.reason, advice)
    if key_count == 0:
        advice = "Let the provider sign ID tokens with RS256, PS256, ES256 or EdDSA."
        return Finding(_CHECK, "failed", f"{settings.oidc_issuer} has no key for signatures", advice)
    if settings.oidc_account and not await _has_account(settings):
        advice = f"Create it: waypost account create {settings.oidc_account}"
        return Finding(_CHECK, "failed", f"there is no account {settings.oidc_account}, which new users join", advice)
    return Finding(_CHECK, "ok", f"{settings.oidc_issuer} responds")


async def _has_account(settings: Settings) -> bool:
    """Whether it exists; True if the database cannot say, which another check reports."""
    try:
        async with Database(settings.database, readers=1) as db:
            if db.dialect == "sqlite" and not db.path.exists():  # opening it would create one
                return True
            async with db.read() as tx:
                return await store.find_by_email(tx, normalize_email(settings.oidc_account)) is not None
    except Unavailable:
        return True
