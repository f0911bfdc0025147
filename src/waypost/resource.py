"""What a package gives to the processes, which know the packages only by it. See `waypost.packages`."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import Table

from waypost.context import Context
from waypost.database import Tx
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.accounts import Account, RateLimiters
    from waypost.accounts.data.archive.parts import Files
    from waypost.mail import SendMail
    from waypost.outbound import DestinationChecker, Poster
    from waypost.redirect import HostTable, RouteTable
    from waypost.web import Endpoints, Guard
    from waypost.web.dashboard import SessionAuth, Views
    from waypost.worker.run import WorkerParts

DELETED_AT_ONCE = 500
"""Rows of one transaction, which other writers wait for."""

ReadRows = Callable[[Context, UUID], AsyncIterator[Sequence[Mapping[str, Any]]]]
"""Yields what an account has, in batches that are read in short transactions."""
DeleteSteps = Callable[[Context, UUID], AsyncGenerator[None, None]]
"""Deletes what an account has. Yields after each transaction that deleted something."""
DeleteSome = Callable[[Tx, UUID, int], Awaitable[int]]
"""Deletes up to a number of rows of an account, and returns how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """What a web process has for all packages."""

    settings: Settings
    context: Context
    resources: "Sequence[Resource]"
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
    resources: "Sequence[Resource]"
    poster: "Poster"
    send_mail: "SendMail"
    destination_checker: "DestinationChecker"
    stack: AsyncExitStack
    """Closes what a package opens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """The parts of a package. Its functions import what they need: a process loads only what its role needs."""

    endpoints: "Callable[[Web], Endpoints] | None" = None
    worker_parts: "Callable[[Worker], WorkerParts] | None" = None
    exported_rows: Mapping[str, ReadRows] = field(default_factory=dict)
    """What the archive of an account has of the package, by the name of the file. Its README names each file."""
    export: "Callable[[Context, Account, datetime], Files] | None" = None
    """Returns files of the archive that have other formats, or only what was there at that time."""
    deleted_rows: Sequence[Table] = ()
    """Tables whose rows of the account, found by their `account_id`, are deleted with it."""
    delete: DeleteSteps | None = None
    """Deletes what else the account has."""
    delete_of_links: "Callable[[Tx, Sequence[UUID]], Awaitable[None]] | None" = None
    """Deletes what there is of deleted links, once no click of theirs can come any more."""
    delete_last: DeleteSome | None = None
    """Deletes what must outlast the links of the account."""
    templates: Mapping[str, str] = field(default_factory=dict)
    """The package that has templates, by the prefix of their names."""
