"""What the demo account has, and who visits it: `content.toml`."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from waypost.resources.links.tags.model import TagColor

_CONTENT: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

DAYS = 90
SITE = "https://example.com"
"""Destinations. The site exists, so that the person who follows a link gets a page."""


@dataclass(frozen=True, slots=True)
class PlannedLink:
    slug: str
    title: str
    path: str
    """Of the destination."""
    age: int
    """Days since its creation."""
    visits: int
    """Of people in the whole period; days and noise change it a little."""
    curve: Literal["steady", "campaign", "newsletter", "event"] = "steady"
    """Visits over the days. campaign: a peak, then less; newsletter: a few days; event: grows until its day."""
    channel: str = "search"
    hostname: str | None = None
    tags: Sequence[str] = ()
    campaign: str = ""
    """`utm_campaign`; empty without UTM parameters."""
    expires: int | None = None
    """Days after its creation; None if it does not expire."""
    is_disabled: bool = False
    pixels: Sequence[str] = ()
    description: str = ""
    """Of its preview; empty without one."""
    colors: Sequence[str] = ()
    """Of the preview's image, from top to bottom; empty without one."""
    style: Mapping[str, Any] = field(default_factory=dict)
    """Of its QR code; empty for the default."""
    scans: float = 0.0
    """Share of visits that scan the QR code."""


LINKS = [PlannedLink(**link) for link in _CONTENT["links"]]
HOSTNAMES: Sequence[str] = _CONTENT["hostnames"]
PIXELS: Mapping[str, Sequence[Any]] = _CONTENT["pixels"]
"""Platform and its id, by our name."""
WEBHOOKS: Sequence[Mapping[str, Any]] = _CONTENT["webhooks"]
TAGS: Mapping[str, TagColor] = _CONTENT["tags"]
"""Colors by name. The others are gray."""
UTM_TEMPLATES: Sequence[Mapping[str, Any]] = _CONTENT["utm_templates"]
SHARES: Sequence[Mapping[str, Any]] = _CONTENT["shares"]
CHANNELS: Mapping[str, Mapping[str, Any]] = _CONTENT["channels"]
USER_AGENTS: Mapping[str, Mapping[str, float]] = _CONTENT["user_agents"]
"""Shares by kind."""
COUNTRIES: Mapping[str, Sequence[float]] = _CONTENT["countries"]
"""Share of visitors, and offset of hours from UTC."""
