"""Dependencies of webhooks, set once by the composition root."""

from dataclasses import dataclass

from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock
from waypost.resources.webhooks.receivers import Receivers


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    receivers: Receivers
    keys: KeyRing
    base_url: str
    clock: Clock
