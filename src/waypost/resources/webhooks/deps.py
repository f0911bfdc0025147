"""Dependencies of webhooks, set once by the composition root."""

from dataclasses import dataclass

from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock
from waypost.resources.webhooks.endpoint_checker import EndpointChecker


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    endpoint_checker: EndpointChecker
    key_ring: KeyRing
    base_url: str
    clock: Clock
