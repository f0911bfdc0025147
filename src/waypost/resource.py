"""What a package gives to the processes, which know the packages only by it. See `waypost.composition`."""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from waypost.context import Context
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.accounts import RateLimiters
    from waypost.outbound import DestinationChecker, Poster
    from waypost.redirect import HostTable, RouteTable
    from waypost.web import Endpoints, Guard
    from waypost.web.dashboard import SessionAuth, Views
    from waypost.worker.run import WorkerParts


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """What a web process has for all packages."""

    settings: Settings
    context: Context
    guard: "Guard"
    auth: "SessionAuth"
    views: "Views"
    limiters: "RateLimiters"
    destination_checker: "DestinationChecker"
    routes: "RouteTable"
    hosts: "HostTable"
    is_shutting_down: Callable[[], bool]
    listens_locally: bool
    """Whether all sockets are on the loopback interface."""
    stack: AsyncExitStack
    """Closes what a package opens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """What a worker has for all packages."""

    settings: Settings
    context: Context
    poster: "Poster"
    destination_checker: "DestinationChecker"
    stack: AsyncExitStack
    """Closes what a package opens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """The parts of a package. Its functions import what they need: a process loads only what its role needs."""

    endpoints: "Callable[[Web], Endpoints] | None" = None
    worker_parts: "Callable[[Worker], WorkerParts] | None" = None
    templates: Mapping[str, str] = field(default_factory=dict)
    """The package that has templates, by the prefix of their names."""
