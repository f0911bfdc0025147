"""Dependencies of the account's pages, set once by the composition root."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from waypost.auth.deps import Deps as AuthDeps
from waypost.resources.account.sign_in_limiter import SignInLimiter

RoutesChanged = Callable[[Sequence[str]], None]


@dataclass(frozen=True, slots=True)
class Deps:
    auth: AuthDeps
    sign_in_limiter: SignInLimiter
    routes_changed: RoutesChanged
    """Called after the commit, so that the next redirect on this machine sees the change."""
    shared_domain: str
    cname_target: str
