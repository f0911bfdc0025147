"""Dependencies of webhooks."""

from dataclasses import dataclass

from waypost.context import Context
from waypost.resources.webhooks.receiver_checker import ReceiverChecker


@dataclass(frozen=True, kw_only=True)
class Deps(Context):
    receiver_checker: ReceiverChecker
