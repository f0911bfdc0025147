"""The context of a process, for tests of one package."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from people import BASE_URL

from waypost import composition
from waypost.context import Context
from waypost.database import Database
from waypost.kit.clock import Clock, now
from waypost.resources.webhooks.deps import Deps as WebhookDeps
from waypost.resources.webhooks.receiver_checker import ReceiverChecker
from waypost.settings import Settings


def new_context(
    db: Database,
    clock: Clock = now,
    publish: Callable[[Sequence[str]], None] = lambda _: None,
    *,
    directory: Path = Path("data"),
    **fields: Any,
) -> Context:
    """`directory`: has images. `fields`: those that differ from what the settings make of them."""
    settings = Settings(base_url=BASE_URL, shared_domain="go.test", secret_key="a key", data_dir=directory)
    return replace(composition.new_context(settings, db, publish, clock), **fields)


def webhook_deps(context: Context) -> WebhookDeps:
    return WebhookDeps(**vars(context), receiver_checker=ReceiverChecker(context.outbound))
