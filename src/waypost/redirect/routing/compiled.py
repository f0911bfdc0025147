"""Compiles the rules and variants that a link's `routing` has in the API into what a route keeps in memory."""

from collections.abc import Mapping, Sequence
from typing import Any

from waypost.redirect.routing.rules import Routing


def compile_routing(rules: Sequence[Mapping[str, Any]], variants: Sequence[Mapping[str, Any]]) -> Routing:
    """Return the routing. Takes valid rules and variants, with the fields that the API has.

    Raises ValueError for a destination that must not be sent as a `Location`.
    """
    raise NotImplementedError
