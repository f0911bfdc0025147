"""Rules of plans, keys and account fields, as pure functions."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from waypost.accounts.model import Plan, PlanChoice
from waypost.accounts.roles import SCOPES
from waypost.kit.errors import Problems

_EMAIL = re.compile(r"[^\s@\"(),:;<>\[\]\\\x00-\x1f\x7f]+@[^\s@.]+(\.[^\s@.]+)+")
MAX_EMAIL_LENGTH = 254
NOT_EMAIL = "This must be an email address, such as ann@example.com."
_MAX_NAME_LENGTH = 255


def normalize_email(text: str) -> str:
    """Return the email as it is stored and compared."""
    return text.strip().lower()


def build_plan(choice: PlanChoice, *, now: datetime, trial_ends_at: datetime | None, trial_days: int) -> Plan:
    if choice == "trial":
        return Plan("trial", None, trial_ends_at or now + timedelta(days=trial_days), None)
    if choice == "subscription":
        return Plan("subscription", "active", None, None)
    if choice == "past_due":
        return Plan("subscription", "past_due", None, None)
    return Plan(choice, None, None, None)


def is_email(email: str) -> bool:
    """`email`: normalized."""
    return len(email) <= MAX_EMAIL_LENGTH and email.isprintable() and bool(_EMAIL.fullmatch(email))


def check_email_and_name(email: str, name: str) -> None:
    """Check a normalized email and a name. Raises Invalid."""
    problems = Problems()
    if not is_email(email):
        problems.add("email", NOT_EMAIL)
    if not _is_label(name):
        problems.add("name", "This must have at most 255 printable characters.")
    problems.raise_if_any()


def check_key(name: str, scopes: Sequence[str], expires_at: datetime | None, now: datetime) -> None:
    """Check the fields of a new key. Raises Invalid."""
    problems = Problems()
    if not name or not _is_label(name):
        problems.add("name", "This must have 1 to 255 printable characters.")
    for index, scope in enumerate(scopes):
        if scope not in SCOPES:
            problems.add(f"scopes.{index}", f"This must be one of: {', '.join(SCOPES)}.")
    if expires_at is not None and expires_at <= now:
        problems.add("expires_at", "The expiry must be in the future.")
    problems.raise_if_any()


def _is_label(text: str) -> bool:
    return len(text) <= _MAX_NAME_LENGTH and text.isprintable()
