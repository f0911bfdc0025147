"""How figures are shown."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from waypost.kit.clock import timestamp
from waypost.resources.clicks.stats.query import Asked
from waypost.resources.clicks.stats.read.service import Stats

_LISTS = {
    "countries": "country",
    "referrers": "referrer",
    "devices": "device",
    "browsers": "browser",
    "platforms": "platform",
}


def of_link(link_id: UUID, asked: Asked, stats: Stats) -> dict[str, Any]:
    return {"link_id": str(link_id), **_figures(asked, stats)}


def of_account(asked: Asked, stats: Stats) -> dict[str, Any]:
    return {**_figures(asked, stats), "top_links": list(_top_links(stats))}


def _figures(asked: Asked, stats: Stats) -> dict[str, Any]:
    total = stats.total
    return {
        "from": timestamp(asked.start),
        "to": timestamp(asked.end),
        "interval": asked.interval,
        "timezone": asked.timezone,
        "clicks": total.clicks,
        "visitors": total.visitors,
        "scans": total.scans,
        "crawlers": total.crawlers,
        "previews": total.previews,
        "first_clicked_at": _moment(total.first_at),
        "last_clicked_at": _moment(total.last_at),
        "series": [
            {"at": timestamp(entry.at), "clicks": each.clicks, "visitors": each.visitors, "scans": each.scans}
            for entry, each in zip(asked.entries, stats.series, strict=True)
        ],
        **{
            shown: [{"value": value, "clicks": count} for value, count in stats.values[name]]
            for shown, name in _LISTS.items()
        },
    }


def _top_links(stats: Stats) -> Iterable[dict[str, Any]]:
    for value, count in stats.values["link"]:
        link_id = UUID(value)
        short_url, title = stats.names.get(link_id, (None, None))
        yield {"link_id": str(link_id), "short_url": short_url, "title": title, "clicks": count}


def _moment(at: datetime | None) -> str | None:
    return timestamp(at) if at else None
