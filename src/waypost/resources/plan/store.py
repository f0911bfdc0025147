"""SQL of customers, events and checkouts of Stripe."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, delete, insert, select, update

from waypost.database import Tx
from waypost.resources.plan.model import StripeCustomer, stripe_checkouts, stripe_customers, stripe_events

_CUSTOMER_COLUMNS = tuple(stripe_customers.c[name] for name in StripeCustomer.__dataclass_fields__)
_EVENT_RETENTION = timedelta(days=30)  # Stripe retries for three days


async def find_customer(tx: Tx, account_id: UUID) -> StripeCustomer | None:
    return await _find_customer(tx, stripe_customers.c.account_id == account_id)


async def find_customer_by_stripe_id(tx: Tx, customer_id: str) -> StripeCustomer | None:
    return await _find_customer(tx, stripe_customers.c.customer_id == customer_id)


async def add_customer(tx: Tx, account_id: UUID, customer_id: str, now: datetime) -> None:
    """Raises IntegrityError if a concurrent transaction was faster."""
    values = {"account_id": account_id, "customer_id": customer_id, "version": 0, "created_at": now}
    await tx.execute(insert(stripe_customers).values(values))


async def update_customer(tx: Tx, before: StripeCustomer, ends_at: datetime | None) -> bool:
    """Return False if it was written since `before` was read."""
    is_unchanged = stripe_customers.c.account_id == before.account_id, stripe_customers.c.version == before.version
    statement = update(stripe_customers).where(*is_unchanged).values(ends_at=ends_at, version=before.version + 1)
    return (await tx.execute(statement)).rowcount > 0


async def has_event(tx: Tx, event_id: str) -> bool:
    return await tx.scalar(select(stripe_events.c.id).where(stripe_events.c.id == event_id)) is not None


async def add_event(tx: Tx, event_id: str, now: datetime) -> None:
    """Raises IntegrityError if a concurrent transaction was faster."""
    await tx.execute(delete(stripe_events).where(stripe_events.c.received_at < now - _EVENT_RETENTION))
    await tx.execute(insert(stripe_events).values(id=event_id, received_at=now))


async def add_checkout(tx: Tx, customer: StripeCustomer, checkout_id: str, now: datetime) -> bool:
    """Return False if it was counted before. Call it after `update_customer`, which locks the customer."""
    query = select(stripe_checkouts.c.id).where(stripe_checkouts.c.id == checkout_id)
    if await tx.scalar(query) is not None:
        return False
    await tx.execute(insert(stripe_checkouts).values(id=checkout_id, account_id=customer.account_id, counted_at=now))
    return True


async def _find_customer(tx: Tx, condition: ColumnElement[bool]) -> StripeCustomer | None:
    return await tx.find(StripeCustomer, select(*_CUSTOMER_COLUMNS).where(condition))
