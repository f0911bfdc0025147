"""What the OpenAPI document tells of figures. Describes; no request comes here."""

from datetime import datetime
from typing import get_args
from uuid import UUID

from pydantic import BaseModel, Field

from waypost.resources.clicks.openapi import FROM, TO
from waypost.resources.clicks.stats.query import DEFAULT_INTERVAL, DEFAULT_ZONE
from waypost.resources.clicks.stats.read.buckets import Interval
from waypost.web.openapi import One, endpoint, parameter


class StatsEntry(BaseModel):
    at: datetime
    clicks: int
    visitors: int
    scans: int


class ValueCount(BaseModel):
    value: str
    clicks: int


class TopLink(BaseModel):
    link_id: UUID
    short_url: str | None
    title: str | None
    clicks: int


class Stats(BaseModel):
    start: datetime = Field(alias="from")
    to: datetime
    interval: Interval
    timezone: str
    clicks: int
    visitors: int
    scans: int
    crawlers: int
    previews: int
    first_clicked_at: datetime | None
    last_clicked_at: datetime | None
    series: list[StatsEntry]
    countries: list[ValueCount]
    referrers: list[ValueCount]
    devices: list[ValueCount]
    browsers: list[ValueCount]
    platforms: list[ValueCount]


class LinkStats(Stats):
    link_id: UUID


class AccountStats(Stats):
    top_links: list[TopLink]


_TEXT = {"type": "string"}
_QUERY = (
    FROM,
    TO,
    parameter(
        "interval",
        {**_TEXT, "enum": list(get_args(Interval)), "default": DEFAULT_INTERVAL},
        "What a series entry spans",
    ),
    parameter("timezone", {**_TEXT, "default": DEFAULT_ZONE}, "Whose days, weeks and months: an IANA name"),
)

OF_LINK = endpoint(
    "Get a link's statistics",
    "Clicks, visitors and scans over time, and where they come from.",
    scope="links:read",
    shows=One[LinkStats],
    query=_QUERY,
    refuses=[404, 422],
)
OF_ACCOUNT = endpoint(
    "Get statistics of all links",
    "With the links that were followed most.",
    scope="links:read",
    shows=One[AccountStats],
    query=_QUERY,
    refuses=[422],
)
