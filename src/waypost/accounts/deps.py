"""Dependencies of the account's pages."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from waypost.accounts.auth_deps import Deps as AuthDeps
from waypost.resources.clicks.click_store import ClickStore
from waypost.resources.links import Routes
from waypost.resources.links.images.media import ImageStore

if TYPE_CHECKING:
    from waypost.accounts.oidc.deps import Deps as OidcDeps
    from waypost.accounts.sign_in.limiter import SignInLimiter


@dataclass(frozen=True, slots=True)
class ExportDeps:
    auth: AuthDeps
    click_store: ClickStore
    image_store: ImageStore
    shared_domain: str
    cname_target: str


@dataclass(frozen=True, slots=True)
class Deps:
    auth: AuthDeps
    sign_in_limiter: "SignInLimiter"
    routes: Routes
    export: ExportDeps
    is_local: bool = False
    """Whether only this machine can reach the service: its sockets and its base URL are on the loopback interface."""
    oidc: "OidcDeps | None" = None
    """None without single sign-on."""
