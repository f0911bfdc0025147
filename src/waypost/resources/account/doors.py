"""What the account's pages need from the rest of the house, handed in once by the composition root."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from waypost.auth.doors import Doors as Signing
from waypost.resources.account.throttle import Throttle


@dataclass(frozen=True, slots=True)
class Doors:
    signing: Signing
    throttle: Throttle
    routes_changed: Callable[[Sequence[str]], None]
    """Called after the commit, so that this machine's very next redirect sees it."""
    shared_domain: str
    cname_target: str
