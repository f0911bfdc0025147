"""The clicks of a link by target, and whether its variants got what their weights say. Pure."""

from collections.abc import Mapping, Sequence

from waypost.redirect import DEFAULT_TARGET
from waypost.resources.clicks.dashboard.rendering import ValueBar
from waypost.resources.clicks.stats.totals import StatsTotals
from waypost.resources.links.routing import LinkRouting

OWN_DESTINATION = "Link's own destination"
GONE = "Not in the routing any more"
AS_CONFIGURED = "This is as configured: chance explains the difference from the weights."
DIFFERS = (
    "This differs from the weights more than chance explains (significance level 1%). A visitor who clicks very often,"
    " or a bot that is not recognized, can cause it."
)
NO_WINNER = "Clicks do not show which variant is better. Compare what visitors do at the destinations."
_MIN_VISITORS = 100
_MIN_EXPECTED = 5
"""Visitors that each variant should have: with fewer, chi-square does not have its distribution."""
_CRITICAL = (6.635, 9.210, 11.345, 13.277, 15.086, 16.812, 18.475, 20.090, 21.666, 23.209)
"""The chi-square that chance exceeds in 1 of 100 cases, by degrees of freedom from 1."""


def target_bars(counted: Sequence[tuple[str, int]], routing: LinkRouting | None) -> list[ValueBar]:
    """Return the targets with clicks, then other rules and variants. Nothing for a link that never had any.

    `counted`: names and clicks, most clicks first.
    """
    notes = {rule["name"]: "Rule" for rule in routing.rules} if routing else {}
    notes |= {name: f"Variant, weight {weight}%" for name, weight in _weights(routing)}
    clicks = dict(counted)
    if not clicks or not (notes or clicks.keys() - {DEFAULT_TARGET}):
        return []
    notes[DEFAULT_TARGET] = ""
    return [ValueBar(_label(name), clicks.get(name, 0), note=notes.get(name, GONE)) for name in {**clicks, **notes}]


def is_split(routing: LinkRouting) -> bool:
    """Return whether visitors are divided by the weights. Those of an unsafe destination are sent elsewhere."""
    return len(_weights(routing)) > 1 and not routing.unsafe_urls


def describe_split(clicks: Mapping[str, int], totals: StatsTotals, routing: LinkRouting, since: str) -> list[str]:
    """Compare the clicks of variants with their weights. Call it if `is_split`.

    A visitor gets the same variant all day, so visitors are independent of each other, and clicks are not. Their
    number is estimated by the clicks per visitor of all targets.

    `clicks` and `totals` are those since these weights are used, or of a shorter time; `since` names its beginning.
    """
    weights = _weights(routing)
    total = sum(clicks.get(name, 0) for name, _ in weights)
    visitors = total * totals.visitors / max(1, totals.clicks)
    needed = max(_MIN_VISITORS, -(-_MIN_EXPECTED * 100 // min(weight for _, weight in weights)))
    if visitors < needed:
        counted = f"about {visitors:,.0f} without a rule{since}, {needed:,} are needed"
        return [f"Too few visitors to compare the split with the weights: {counted}."]
    shares = {name: clicks.get(name, 0) / total for name, _ in weights}
    chi_square = sum(visitors * (shares[name] - weight / 100) ** 2 / (weight / 100) for name, weight in weights)
    split = ", ".join(f"{_label(name)} {shares[name]:.1%} (weight {weight}%)" for name, weight in weights)
    verdict = DIFFERS if chi_square > _CRITICAL[len(weights) - 2] else AS_CONFIGURED
    return [f"Clicks without a rule{since}: {split}. {verdict}", NO_WINNER]


def _weights(routing: LinkRouting | None) -> list[tuple[str, int]]:
    """Return the weights of the variants and, if any visitors are left for it, of the link's own destination."""
    weights = [(variant["name"], variant["weight"]) for variant in routing.variants] if routing else []
    rest = 100 - sum(weight for _, weight in weights)
    return [*weights, (DEFAULT_TARGET, rest)] if weights and rest else weights


def _label(name: str) -> str:
    return OWN_DESTINATION if name == DEFAULT_TARGET else name
