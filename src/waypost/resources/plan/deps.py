"""Dependencies of plans."""

from dataclasses import dataclass, field

from waypost.context import Context
from waypost.resources.plan.stripe import Stripe


@dataclass(frozen=True, slots=True)
class Price:
    label: str
    id: str
    """Id of the price in Stripe, which defines whether it recurs or is paid once."""


@dataclass(frozen=True, kw_only=True)
class Deps(Context):
    stripe: Stripe | None
    """None if only the operator sets plans."""
    webhook_secret: str = field(repr=False)
    prices: tuple[Price, ...]
