"""What claims mean here: who somebody is, and the role of their groups. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from waypost.accounts.model import ROLES, Role
from waypost.accounts.oidc.errors import SignInRefused
from waypost.accounts.oidc.tokens import SKEW, Claims, is_id
from waypost.accounts.rules import check_email_and_name, normalize_email
from waypost.kit.errors import Invalid

_MAX_NAME = 255
_TRUE_IN_ENTRA = True, 1, "1", "true"
NO_EMAIL = "The single sign-on provider sent no email address. Ask your administrator."
UNVERIFIED = "The single sign-on provider has not verified your email address. Ask your administrator."


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody at the provider."""

    issuer: str
    subject: str
    email: str
    name: str
    groups: tuple[str, ...] = ()
    session_id: str | None = None
    id_token: str = field(default="", repr=False)


def read_identity(claims: Claims, groups_claim: str, id_token: str) -> Identity:
    """Raises SignInRefused if there is no verified email."""
    email = normalize_email(_text(claims, "email"))
    if not email:
        raise SignInRefused("email is missing", NO_EMAIL)
    if not is_email_verified(claims):
        raise SignInRefused("the email is unverified", UNVERIFIED)
    try:
        check_email_and_name(email, "")
    except Invalid:
        raise SignInRefused("email is not an email address", NO_EMAIL) from None
    session_id = claims.get("sid")
    return Identity(
        issuer=claims["iss"],
        subject=claims["sub"],
        email=email,
        name=_name(claims) or email.partition("@")[0],
        groups=_groups(claims, groups_claim),
        session_id=session_id if is_id(session_id) else None,
        id_token=id_token,
    )


def is_email_verified(claims: Claims) -> bool:
    """Microsoft Entra ID has no `email_verified`; its `xms_edov` says that the owner of the domain is verified."""
    if "email_verified" in claims:
        return _is_true(claims["email_verified"])
    return claims.get("xms_edov") in _TRUE_IN_ENTRA


def role_of(groups: tuple[str, ...], role_by_group: Mapping[str, Role]) -> Role | None:
    """Return the highest role of the groups; None if no group has one."""
    roles = [role_by_group[group] for group in groups if group in role_by_group]
    return max(roles, key=ROLES.index, default=None)


def has_too_many_groups(claims: Claims, groups_claim: str) -> bool:
    """Whether Microsoft Entra ID left out the groups, because there are more than 200."""
    left_out = claims.get("_claim_names")
    return _is_true(claims.get("hasgroups")) or (isinstance(left_out, dict) and groups_claim in left_out)


def check_authentication_time(claims: Claims, started_at: datetime) -> None:
    """Raise SignInRefused if the provider did not ask for credentials again.

    A provider that does not say when it asked is trusted: someone who has only stolen our session is not signed in
    there.
    """
    at = claims.get("auth_time")
    if isinstance(at, int | float) and at < started_at.timestamp() - SKEW:
        raise SignInRefused("auth_time", "The single sign-on provider did not ask you to sign in again.")


def _is_true(value: object) -> bool:
    """Some providers send the text. The number 1 would equal True."""
    return value is True or value == "true"


def _groups(claims: Claims, name: str) -> tuple[str, ...]:
    value = claims.get(name)
    values = value if isinstance(value, list) else [value]
    return tuple(each for each in values if isinstance(each, str))


def _name(claims: Claims) -> str:
    names = (_text(claims, "name"), _text(claims, "preferred_username"))
    return next((name[:_MAX_NAME] for name in names if name and name.isprintable()), "")


def _text(claims: Claims, name: str) -> str:
    value = claims.get(name)
    return value.strip() if isinstance(value, str) else ""
