"""Dependencies of webhooks."""

from dataclasses import dataclass

from waypost.context import Context
from waypost.resources.webhooks.endpoint_checker import EndpointChecker


@dataclass(frozen=True, kw_only=True)
class Deps(Context):
    endpoint_checker: EndpointChecker
