"""The lists of statistics that group links: by their tags, hostnames and UTM parameters."""

from collections import Counter
from collections.abc import Collection, Mapping
from uuid import UUID

from waypost.database import Tx
from waypost.resources.clicks.model import LABELS, LabelName
from waypost.resources.links.labels import LinkLabels, find_labels

LabelValues = dict[LabelName, Counter[str]]
"""Clicks by value of each list."""


def values_of(labels: LinkLabels) -> dict[LabelName, Collection[str]]:
    """Return the values that a link has in each list."""
    found: dict[LabelName, Collection[str]] = {"tag": labels.tags, "hostname": [labels.hostname]}
    for name in LABELS[2:]:
        found[name] = [labels.utm_params[name]] if name in labels.utm_params else []
    return found


async def sum_labels(tx: Tx, clicks: Mapping[str, int], *, shared_domain: str) -> LabelValues:
    """`clicks`: by link, in 32 hex digits."""
    found: LabelValues = {name: Counter() for name in LABELS}
    labels = await find_labels(tx, [UUID(link) for link in clicks], shared_domain=shared_domain)
    for link_id, of_link in labels.items():
        for name, values in values_of(of_link).items():
            for value in values:
                found[name][value] += clicks[link_id.hex]
    return found
