"""Dependencies of the dashboard's pages of imports."""

from dataclasses import dataclass

from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock
from waypost.resources import domains
from waypost.resources.imports.requests.uploads import Uploads


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    key_ring: KeyRing
    uploads: Uploads
    domains: domains.WebDeps
    shared_domain: str
    clock: Clock
