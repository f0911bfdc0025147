"""Host lookups for the redirects: is a custom domain live, and where do its root and unknown slugs redirect to."""

from sqlalchemy import bindparam, select

from waypost.database import Database
from waypost.redirect import Route, new_host
from waypost.resources.domains.model import domains

_FIND = select(domains.c.root_url, domains.c.not_found_url).where(
    domains.c.hostname == bindparam("hostname"), domains.c.is_live
)


class HostSource:
    """A `redirect.table.Source` of hosts, asked by visits to no link of a domain, which is no hot path."""

    find_now = None

    def __init__(self, db: Database) -> None:
        self._db = db

    async def find(self, host: bytes) -> Route | None:
        """None for a host that is not live. Raises Unavailable."""
        async with self._db.point_read() as tx:
            row = (await tx.execute(_FIND, {"hostname": host.decode("ascii")})).one_or_none()
        return None if row is None else new_host(host, row.root_url, row.not_found_url)
