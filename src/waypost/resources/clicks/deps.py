"""Dependencies of clicks, set once by the composition root."""

from dataclasses import dataclass

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.clicks.click_store import ClickStore


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    store: ClickStore
    shared_domain: str
    base_url: str
    clock: Clock
