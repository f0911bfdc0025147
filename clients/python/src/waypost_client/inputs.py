# Made from the OpenAPI document by `python -m clients.python.generator`; do not edit.
"""What is within a request, and the values of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias, TypedDict

from waypost_client.models import (
    Condition,
    ConditionOperator,
    ConditionType,
    LinkStatus,
    UtmParams,
)

ClickKindFilter: TypeAlias = Literal["human", "crawler", "preview", "prefetch", "all"]
"""A kind of visit, or all of them."""

ImageFormat: TypeAlias = Literal["png", "svg", "pdf"]
"""Format of an image."""

LabelCaption: TypeAlias = Literal["slug", "title", "none"]
"""Text of a label."""

LabelSheet: TypeAlias = Literal["L4731", "L7160"]
"""Sheet of labels of Avery."""

StatsComparison: TypeAlias = Literal["previous_period", "previous_year"]
"""The earlier time range: just before, or a year earlier."""


class BulkUpdateSet(TypedDict, total=False):
    status: LinkStatus
    """`inactive` disables the links."""
    expires_at: datetime | str | None
    """Time of expiry; None for never."""
    hostname: str | None
    """Domain of the account; None for the shared domain."""
    pixel_ids: Sequence[str] | None
    """IDs of the pixels that fire on the link."""
    options: LinkOptionsUpdate
    """Options of the link; those that are left out stay as they are."""
    utm_params: UtmParams | UtmParamsInput
    """UTM parameters to set in the destination of each link; None as a value removes one, and others stay."""
    tags: Sequence[str] | None
    """Tags that replace those of each link; not together with `add_tags` or `remove_tags`."""
    add_tags: Sequence[str]
    """Tags to add; those that a link has already stay where they are."""
    remove_tags: Sequence[str]
    """Tags to remove."""


_ConditionInputFields = TypedDict(
    "_ConditionInputFields",
    {
        "operator": "ConditionOperator",
        "values": "Sequence[str] | None",
        "name": "str | None",
        "from": "str | None",
        "to": "str | None",
        "weekdays": "Sequence[int] | None",
        "timezone": "str | None",
    },
    total=False,
)


class ConditionInput(_ConditionInputFields):
    type: ConditionType
    """What the condition compares; `device`, `platform` and `browser` as in statistics."""


class FiltersInput(TypedDict, total=False):
    country: Sequence[str]
    """Two-letter country codes, or `unknown`; `-` before one excludes it."""
    device: Sequence[str]
    """Types of device: desktop, mobile, tablet, other; `-` before one excludes it."""
    browser: Sequence[str]
    """Browser families, or `unknown`; `-` before one excludes it."""
    platform: Sequence[str]
    """Operating system families, or `unknown`; `-` before one excludes it."""
    referrer: Sequence[str]
    """Origin and path of the referring page, a host for all its pages, or `direct`; `-` before one excludes it."""
    target: Sequence[str]
    """Names of rules and variants, or `default`; `-` before one excludes it."""
    is_scan: Sequence[str]
    """`true` for scans of QR codes, `false` for other clicks; `-` before one excludes it."""
    link_id: Sequence[str]
    """IDs of links; `-` before one excludes it."""
    tag: Sequence[str]
    """Tags that links have now, `none` for links without tags; `-` before one excludes it."""
    hostname: Sequence[str]
    """Hostnames of links; `-` before one excludes it."""
    utm_source: Sequence[str]
    """UTM sources of links, `none` for links without one; `-` before one excludes it."""
    utm_medium: Sequence[str]
    """UTM mediums of links, `none` for links without one; `-` before one excludes it."""
    utm_campaign: Sequence[str]
    """UTM campaigns of links, `none` for links without one; `-` before one excludes it."""
    utm_term: Sequence[str]
    """UTM terms of links, `none` for links without one; `-` before one excludes it."""
    utm_content: Sequence[str]
    """UTM contents of links, `none` for links without one; `-` before one excludes it."""


class _LabelGridInputFields(TypedDict, total=False):
    margin_top: float | None
    """Millimeters above the first row; default: 10."""
    margin_right: float | None
    """Millimeters beside the last column; default: 10."""
    margin_bottom: float | None
    """Millimeters below the last row; default: 10."""
    margin_left: float | None
    """Millimeters beside the first column; default: 10."""
    gap_x: float | None
    """Millimeters between two columns; default: 0."""
    gap_y: float | None
    """Millimeters between two rows; default: 0."""


class LabelGridInput(_LabelGridInputFields):
    columns: int
    """Labels in a row."""
    rows: int
    """Labels in a column."""


class _LinkCreateFields(TypedDict, total=False):
    slug: str | None
    """Path of the short URL: letters, digits, hyphens and underscores. Default: generated."""
    title: str | None
    """Title. Default: the title of the destination's page."""
    hostname: str | None
    """Verified or unverified domain of the account. Default: the shared domain."""
    og_title: str | None
    """Title in link previews."""
    og_description: str | None
    """Description in link previews."""
    og_image: str | None
    """URL of the image in link previews."""
    utm_params: UtmParams | UtmParamsInput
    """UTM parameters, which are added to the destination URL."""
    tags: Sequence[str] | None
    """Tags."""
    expires_at: datetime | str | None
    """Time of expiry; None for never."""
    pixel_ids: Sequence[str] | None
    """IDs of the pixels that fire on the link."""
    options: LinkOptionsUpdate
    """Options of the link; those that are left out stay as they are."""


class LinkCreate(_LinkCreateFields):
    destination_url: str
    """http:// or https:// URL that visitors are redirected to, including the UTM parameters."""


class LinkOptionsUpdate(TypedDict, total=False):
    forward_query: str | Sequence[str] | None
    """Which parameters of the visitor's query are added to the destination: "none", "all", or 1 to 20 names, of
    which an asterisk at the end matches the rest; None as the domain says."""
    forward_path: bool | None
    """Whether what follows the link's path in the visitor's address is added to the path of the destination; None as
    the domain says."""
    note: str | None
    """Text for the members of the account, which searches find."""
    external_id: str | None
    """ID of the link in another system: visible characters without blanks, unique in the account."""


class RuleInput(TypedDict):
    name: str
    """Name."""
    conditions: Sequence[Condition | ConditionInput]
    """1 to 5 conditions, all of which must hold."""
    destination_url: str
    """http:// or https:// URL that visitors are redirected to. It gets no UTM parameters."""


class UtmParamsInput(TypedDict, total=False):
    utm_source: str | None
    """Source of the visitors, such as newsletter."""
    utm_medium: str | None
    """Medium, such as email."""
    utm_campaign: str | None
    """Campaign."""
    utm_term: str | None
    """Search term."""
    utm_content: str | None
    """Content, which distinguishes links of a campaign."""


class VariantInput(TypedDict):
    name: str
    """Name."""
    destination_url: str
    """http:// or https:// URL that visitors are redirected to. It gets no UTM parameters."""
    weight: int
    """Percentage of the visitors, 1 to 100."""
