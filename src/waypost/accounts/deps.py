"""Dependencies of the account's pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from waypost.accounts.auth_deps import Deps as AuthDeps
from waypost.context import Context
from waypost.resource import Resource

if TYPE_CHECKING:
    from waypost.accounts.oidc.deps import Deps as OidcDeps
    from waypost.accounts.sign_in.limiter import SignInLimiter


@dataclass(frozen=True, kw_only=True)
class Deps(AuthDeps):
    sign_in_limiter: "SignInLimiter"
    context: Context
    resources: Sequence[Resource]
    is_local: bool = False
    """Whether only this machine can reach the service: its sockets and its base URL are on the loopback interface."""
    oidc: "OidcDeps | None" = None
    """None without single sign-on."""
