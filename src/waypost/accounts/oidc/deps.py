"""Dependencies of single sign-on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from waypost.accounts.auth_deps import Deps as AuthDeps
from waypost.accounts.model import Role
from waypost.accounts.oidc.provider import Provider
from waypost.accounts.oidc.tokens import Client
from waypost.kit.clock import Clock
from waypost.outbound import OperatorOutbound
from waypost.secret_key import derived_key
from waypost.settings import Settings

CALLBACK = "/login/oidc/callback"


@dataclass(frozen=True, kw_only=True)
class Deps(AuthDeps):
    provider: Provider
    groups_claim: str
    role_by_group: Mapping[str, Role]
    """Empty: people join by invitation, and roles are set by hand."""
    account_email: str
    """Of the account that new people join; empty without `role_by_group`."""
    key: bytes = field(repr=False)
    """Seals identities in cookies."""

    @property
    def redirect_uri(self) -> str:
        return self.base_url + CALLBACK


def new_deps(settings: Settings, auth: AuthDeps) -> Deps:
    return Deps(
        **vars(auth),
        provider=new_provider(settings, auth.clock),
        groups_claim=settings.oidc_groups_claim,
        role_by_group=cast("Mapping[str, Role]", settings.role_by_group),
        account_email=auth.oidc_account,
        key=derived_key(settings, "pending identities"),
    )


def new_provider(settings: Settings, clock: Clock) -> Provider:
    outbound = OperatorOutbound(
        dns_servers=settings.dns_servers, ca_file=settings.outbound_ca_file, proxy=settings.proxy
    )
    secret = settings.oidc_client_secret.get_secret_value() if settings.oidc_client_secret else ""
    return Provider(outbound, Client(settings.oidc_issuer, settings.oidc_client_id, secret), clock)
