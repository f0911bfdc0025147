"""Dependencies of sign-up and sign-in."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from waypost.accounts.model import PlanChoice
from waypost.accounts.rules import normalize_email
from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock
from waypost.secret_key import derived_keys, secret_text
from waypost.settings import Settings

Signup = Literal["open", "invite", "closed"]


@dataclass(frozen=True)
class Deps:
    db: Database
    base_url: str
    signup: Signup
    new_plan: PlanChoice
    trial_days: int
    sends_mail: bool
    """False: emails are written to a file or the log, and users do not confirm their email."""
    email_digest_keys: Sequence[bytes]
    """The first key makes new digests; all of them are used to search."""
    clock: Clock
    has_passwords: bool = True
    """Whether people can sign in with passwords and passkeys, and sign up."""
    secret_keys: str = field(default="", repr=False)
    """As in WAYPOST_SECRET_KEY. Empty in commands that need none."""
    oidc_account: str = ""
    """Email of the account that people join by single sign-on. It stays: else another account could get them."""

    @property
    def key_ring(self) -> KeyRing:
        return KeyRing.from_setting(self.secret_keys)


def new_deps(settings: Settings, db: Database, clock: Clock) -> Deps:
    return Deps(
        db=db,
        base_url=settings.base_url,
        signup=settings.signup if settings.password_sign_in else "closed",
        new_plan=settings.default_plan,
        trial_days=settings.trial_days,
        sends_mail=settings.mail_server is not None,
        email_digest_keys=derived_keys(settings, "addresses"),
        clock=clock,
        has_passwords=settings.password_sign_in,
        secret_keys=secret_text(settings),
        oidc_account=normalize_email(settings.oidc_account),
    )
