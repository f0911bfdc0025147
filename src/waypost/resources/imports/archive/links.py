"""Reads the links of an archive, which have all fields of a link here. Passwords are not in it."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from waypost.kit.clock import timestamp
from waypost.kit.errors import Problems
from waypost.kit.fields import Timestamp, parse
from waypost.resources.imports.archive.rows import LinkRow
from waypost.resources.imports.source import Address, SourceLink
from waypost.resources.links import Link
from waypost.resources.links.routing.schemas import RoutingFields, parse_routing

_RESOLVED = {"id", "slug", "hostname", "destination_url", "is_enabled"}
"""Fields of a link that are not copied."""


class RoutingRow(RoutingFields):
    has_password: bool = False
    updated_at: Timestamp | None = None


class ArchivedLink(NamedTuple):
    row: LinkRow
    routing: RoutingRow
    routing_problem: str | None
    """Why the routing cannot be read. A sentence without its end."""

    def copied_fields(self, pixels: Mapping[UUID, UUID]) -> dict[str, Any]:
        """`pixels`: those here by those of the archive."""
        names = LinkRow.model_fields.keys() & Link.__dataclass_fields__.keys() - _RESOLVED
        copied: dict[str, Any] = {name: value for name in names if (value := getattr(self.row, name)) is not None}
        copied["utm_params"] = self.row.utm
        copied["pixel_ids"] = [pixels[id_] for id_ in self.row.pixel_ids if id_ in pixels]
        copied |= self.row.options.values if self.row.options else {}
        return copied | ({"og_image": None} if self.row.uploaded_image else {})

    def to_compare(self, link: Link) -> dict[str, Any]:
        """Return as JSON what is equal if nothing has changed. The routing is compared apart."""
        resolved = {"hostname": link.hostname, "pixel_ids": [str(id_) for id_ in link.pixel_ids]}
        return self.row.model_dump(mode="json", exclude={"routing"}) | resolved


def read_link(row: LinkRow) -> SourceLink:
    """A link whose routing cannot be read is imported, and disabled."""
    fields, problems = RoutingRow(), Problems()
    if isinstance(row.routing, dict):
        fields, problems = parse(RoutingRow, row.routing)
    elif row.routing is not None:
        problems.add("", "It is not an object")
    parsed, problem = parse_routing(fields, problems), None
    routing: dict[str, Any] = {
        "rules": parsed.rules,
        "variants": parsed.variants,
        "fallback_url": fields.fallback_url,
        "starts_at": fields.starts_at and timestamp(fields.starts_at),
        "click_limit": fields.click_limit,
        "has_password": fields.has_password,
    }
    if problems:
        place, [message, *_] = next(iter(problems.errors.items()))
        problem = f"{place}: {message}".removeprefix(": ").rstrip(".")
        routing = {"problem": problem}
    return SourceLink(
        str(row.id),
        Address(row.hostname, row.slug),
        row.destination_url,
        is_enabled=row.is_enabled,
        clicks=row.imported_clicks or None,
        routing=None if row.routing is None else routing,
        archived=ArchivedLink(row, fields, problem),
    )
