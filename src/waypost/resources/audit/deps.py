"""Dependencies of the audit log's pages, set once by the composition root."""

from dataclasses import dataclass

from waypost.database import Database
from waypost.kit.clock import Clock


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    clock: Clock
