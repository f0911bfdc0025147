"""Finds the domain here that each hostname of the source is mapped to."""

from collections.abc import Mapping
from functools import lru_cache
from uuid import UUID

from waypost.database import Tx
from waypost.resources import domains
from waypost.resources.domains.names import canonical_or_lower
from waypost.resources.imports.choices import is_of_vendor
from waypost.resources.imports.rules import Host
from waypost.resources.imports.run import Page

_canonical = lru_cache(256)(canonical_or_lower)


class Hosts:
    def __init__(self, shared_domain: str) -> None:
        self.shared = Host(None, shared_domain)
        self._hosts: dict[str, Host] = {}

    async def find(self, tx: Tx, account_id: UUID, names: Mapping[str, str], done: Page) -> None:
        """`names`: hostnames here by hostnames of the source, as they were entered."""
        mapping = {_canonical(theirs): _canonical(ours) for theirs, ours in names.items()}
        own = await domains.find_by_hostname(tx, account_id, set(mapping.values()))
        for theirs, ours in mapping.items():
            domain_id, is_served = own.get(ours, (None, True))
            self._hosts[theirs] = Host(domain_id, ours) if domain_id else self.shared
            if domain_id is None and ours != self.shared.hostname:
                text = f"{ours} is not a domain of this account: links of {theirs} go to {self.shared.hostname}."
                done.warn(f"{text} Register it and import again to move them")
            if not is_served:
                done.warn(f"{ours} is not verified yet: its links work once its DNS records are set")

    def get(self, hostname: str | None, done: Page) -> Host:
        theirs = None if hostname is None else _canonical(hostname)
        if theirs and (host := self._hosts.get(theirs)):
            return host
        links = f"Links of {theirs}" if theirs else "Links without a hostname"
        advice = "To keep their addresses, register the domain and map it"
        if theirs and is_of_vendor(theirs):
            advice = "Their old addresses stay at that service"
        done.warn(f"{links} go to {self.shared.hostname}. {advice}")
        return self.shared
