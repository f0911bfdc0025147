"""Where the redirect plane learns of a custom domain: is it served, and where do visits to none of its links lead."""

from sqlalchemy import bindparam, select

from waypost.database import Database
from waypost.redirect import Route, new_host
from waypost.resources.domains.model import domains

_FIND = select(domains.c.root_url, domains.c.not_found_url).where(
    domains.c.hostname == bindparam("hostname"), domains.c.is_live
)


class Hosts:
    """A `redirect.table.Source` of hosts: a visit to none of a domain's links asks it, which is no hot path."""

    find_now = None

    def __init__(self, db: Database) -> None:
        self._db = db

    async def find(self, host: bytes) -> Route | None:
        """None for a host that is not served. Raises Unavailable."""
        async with self._db.point_read() as tx:
            row = (await tx.execute(_FIND, {"hostname": host.decode("ascii")})).one_or_none()
        return None if row is None else new_host(host, row.root_url, row.not_found_url)
