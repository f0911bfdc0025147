"""Dependencies of plans, set once by the composition root."""

from dataclasses import dataclass

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.plan.stripe import Stripe


@dataclass(frozen=True, slots=True)
class Price:
    label: str
    id: str
    """Id of the price in Stripe, which defines whether it recurs or is paid once."""


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    stripe: Stripe | None
    """None if only the operator sets plans."""
    webhook_secret: str
    prices: tuple[Price, ...]
    base_url: str
    clock: Clock
