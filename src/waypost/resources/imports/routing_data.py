"""Builds `SourceLink.routing`: the body of PUT /v1/links/{id}/routing."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from waypost.kit.clock import timestamp


def rule(condition: str, values: Sequence[str], destination_url: str) -> dict[str, Any]:
    """Return a rule with one condition, such as `rule("platform", ["iOS"], url)`."""
    return {
        "name": ", ".join(values),
        "conditions": [{"type": condition, "operator": "in", "values": [*values]}],
        "destination_url": destination_url,
    }


def country_rules(urls: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return one rule for each destination, in the order of its first country. `urls`: by country code."""
    countries: dict[str, list[str]] = {}
    for country, url in urls.items():
        countries.setdefault(url, []).append(country.upper())
    return [rule("country", values, url) for url, values in countries.items()]


def variant(name: str, destination_url: str, weight: int) -> dict[str, Any]:
    """`weight`: percent. What all variants leave goes to the link's destination."""
    return {"name": name, "destination_url": destination_url, "weight": weight}


def routing(
    *,
    rules: Sequence[dict[str, Any]] = (),
    variants: Sequence[dict[str, Any]] = (),
    password: str | None = None,
    starts_at: datetime | None = None,
    click_limit: int | None = None,
    fallback_url: str | None = None,
) -> dict[str, Any] | None:
    """Return only what is set, and None for a link that has nothing of it."""
    fields = {
        "rules": [*rules],
        "variants": [*variants],
        "password": password,
        "starts_at": timestamp(starts_at) if starts_at else None,
        "click_limit": click_limit,
        "fallback_url": fallback_url,
    }
    return {name: value for name, value in fields.items() if value} or None
