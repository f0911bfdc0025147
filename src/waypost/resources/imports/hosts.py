"""Finds the domain here that each hostname of the source is mapped to."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from uuid import UUID

from waypost.resources import domains
from waypost.resources.domains.names import MAX_NAME, canonical_or_lower
from waypost.resources.imports.choices import is_of_vendor
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import
from waypost.resources.imports.page_plan import PageReport
from waypost.resources.imports.rules import Host

_MAX_READ = 2 * MAX_NAME
_canonical = lru_cache(256)(canonical_or_lower)


def canonical(hostname: str) -> str:
    """Longer texts are no hostnames. Only their beginning is read and cached: a source may send megabytes."""
    return _canonical(hostname[:_MAX_READ])


class Hosts:
    hostnames: Iterable[str] = ()
    pixels: Mapping[UUID, UUID] = {}

    def __init__(self, deps: Deps, import_: Import) -> None:
        self.shared = Host(None, deps.shared_domain)
        self._db = deps.db
        self._account_id = import_.account_id
        self._names: Mapping[str, str] = import_.domains
        """As they were entered."""
        self._hosts: dict[str, Host] = {}

    async def find(self, done: PageReport) -> None:
        mapping = {canonical(theirs): canonical(ours or self.shared.hostname) for theirs, ours in self._names.items()}
        async with self._db.read() as tx:
            own = await domains.find_by_hostname(tx, self._account_id, set(mapping.values()))
        for theirs, ours in mapping.items():
            domain_id, is_served = own.get(ours, (None, True))
            self._hosts[theirs] = Host(domain_id, ours) if domain_id else self.shared
            if domain_id is None and ours != self.shared.hostname:
                text = f"{ours} is not a domain of this account: links of {theirs} go to {self.shared.hostname}."
                done.warn(f"{text} Register it and import again to move them")
            if not is_served:
                done.warn(f"{ours} is not verified yet: its links work once its DNS records are set")

    def get(self, hostname: str | None, done: PageReport) -> Host:
        theirs = None if hostname is None else canonical(hostname)
        if theirs and (host := self._hosts.get(theirs)):
            return host
        links = f"Links of {theirs}" if theirs else "Links without a hostname"
        advice = "To keep their addresses, register the domain and map it"
        if theirs and is_of_vendor(theirs):
            advice = "Their old addresses stay at that service"
        done.warn(f"{links} go to {self.shared.hostname}. {advice}")
        return self.shared
