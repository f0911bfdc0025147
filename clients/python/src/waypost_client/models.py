# Made from the OpenAPI document by `python -m clients.python.generator`; do not edit.
"""What the service returns, and the events that webhooks receive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal, TypeAlias

from waypost_client._values import new, read_many, read_optional, read_time

BulkCreateStatus: TypeAlias = Literal["created", "invalid", "retry"]
"""What became of an entry: `retry` means that it did not get its turn, and should be sent again."""

BulkDeleteStatus: TypeAlias = Literal["deleted", "not_found"]
"""What became of an id."""

BulkUpdateStatus: TypeAlias = Literal["updated", "unchanged", "not_found", "invalid"]
"""What became of an id."""

ClickKind: TypeAlias = Literal["human", "crawler", "preview", "prefetch"]
"""What made a visit: a person, a crawler, a link preview or the prefetch of a browser."""

ConditionOperator: TypeAlias = Literal["in", "not_in"]
"""Whether the visitor must be in the list, or not."""

ConditionType: TypeAlias = Literal["device", "platform", "browser", "country", "language", "query", "time", "schedule"]
"""What a condition compares."""

DeliveryEventType: TypeAlias = Literal["link.created", "link.clicked", "pixel.fired", "webhook.test"]
"""Type of the event of a delivery; `webhook.test` is sent on request only."""

DeliveryStatus: TypeAlias = Literal["pending", "delivered", "failed", "cancelled"]
"""Status of a delivery."""

Device: TypeAlias = Literal["desktop", "mobile", "tablet", "other"]
"""Type of device."""

DnsRecordType: TypeAlias = Literal["TXT", "CNAME"]
"""Type of a DNS record."""

DomainStatus: TypeAlias = Literal["pending", "verifying", "verified", "failed"]
"""Status of the verification of a domain."""

ErrorCorrection: TypeAlias = Literal["L", "M", "Q", "H"]
"""How much of a code may be damaged: L 7 %, M 15 %, Q 25 %, H 30 %."""

EventType: TypeAlias = Literal["link.created", "link.clicked", "pixel.fired"]
"""Type of an event that a webhook can subscribe to."""

FrameStyle: TypeAlias = Literal["none", "bottom"]
"""Frame around a QR code."""

HealthStatus: TypeAlias = Literal["ok", "broken", "uncertain", "unchecked"]
"""`broken`: 404, 410, no such host or an invalid certificate on three days; `uncertain`: it failed otherwise, or
not on three days yet; `unchecked`: not visited yet."""

LinkStatus: TypeAlias = Literal["active", "inactive"]
"""`inactive`: disabled, expired, before its start or after its click limit."""

ModuleStyle: TypeAlias = Literal["squares", "dots", "fluid"]
"""Shape of the modules of a QR code."""

PixelPlatform: TypeAlias = Literal["facebook", "tiktok", "pinterest", "google_ads"]
"""Advertising platform."""

PlanType: TypeAlias = Literal["trial", "subscription", "lifetime", "none"]
"""Type of a plan."""

Scope: TypeAlias = Literal[
    "links:read", "links:write", "domains:read", "domains:write", "pixels:read", "pixels:write", "webhooks:manage"
]
"""What an API key may do."""

SlugAlphabet: TypeAlias = Literal["mixed", "lower", "digits"]
"""Characters of generated slugs."""

StatsInterval: TypeAlias = Literal["hour", "day", "week", "month"]
"""Length of an entry of a series."""

TagColor: TypeAlias = Literal["gray", "red", "orange", "yellow", "green", "teal", "blue", "violet", "pink"]
"""Color of a tag in the dashboard."""

TlsStatus: TypeAlias = Literal["none", "pending", "active", "failed"]
"""Status of a certificate."""


@dataclass(frozen=True)
class AccountStats:
    from_: datetime
    """Start of the time range."""
    to: datetime
    """End of the time range, exclusive."""
    interval: StatsInterval | str
    """Length of an entry of `series`."""
    timezone: str
    """Time zone of the intervals."""
    clicks: int
    """Number of clicks by people, including QR code scans."""
    visitors: int | None
    """Number of unique visitors. A visitor counts once per UTC day. Null for several links on days whose clicks were
    deleted."""
    scans: int
    """Number of QR code scans, included in `clicks`."""
    crawlers: int
    """Number of visits by crawlers, not included in `clicks`."""
    previews: int
    """Number of requests for link previews, not included in `clicks`."""
    first_clicked_at: datetime | None
    """First click in the time range; None if there is none."""
    last_clicked_at: datetime | None
    """Last click in the time range; None if there is none."""
    series: list[StatsEntry]
    """Numbers for each interval of the time range."""
    countries: list[ValueCount]
    """Clicks by country code, the 50 most frequent."""
    referrers: list[ValueCount]
    """Clicks by referrer, the 50 most frequent."""
    devices: list[ValueCount]
    """Clicks by device type."""
    browsers: list[ValueCount]
    """Clicks by browser family, the 50 most frequent."""
    platforms: list[ValueCount]
    """Clicks by operating system, the 50 most frequent."""
    hours: list[Hour]
    """Clicks by hour of the week, without hours that have no clicks."""
    top_links: list[TopLink]
    """The 50 links with the most clicks."""
    tags: list[ValueCount]
    """Clicks by tag of the link, the 50 most frequent."""
    hostnames: list[ValueCount]
    """Clicks by hostname of the link, the 50 most frequent."""
    utm_sources: list[ValueCount]
    """Clicks by UTM source of the link, the 50 most frequent."""
    utm_mediums: list[ValueCount]
    """Clicks by UTM medium of the link, the 50 most frequent."""
    utm_campaigns: list[ValueCount]
    """Clicks by UTM campaign of the link, the 50 most frequent."""
    previous: PreviousStats | None = None
    """The earlier time range, if `compare` was sent: cut at the same time of day."""

    @classmethod
    def from_json(cls, data: Any) -> AccountStats:
        get = data.get
        return new(
            cls,
            from_=read_time(get("from")),
            to=read_time(get("to")),
            interval=get("interval"),
            timezone=get("timezone"),
            clicks=get("clicks"),
            visitors=get("visitors"),
            scans=get("scans"),
            crawlers=get("crawlers"),
            previews=get("previews"),
            first_clicked_at=read_time(get("first_clicked_at")),
            last_clicked_at=read_time(get("last_clicked_at")),
            series=read_many(StatsEntry.from_json, get("series")),
            countries=read_many(ValueCount.from_json, get("countries")),
            referrers=read_many(ValueCount.from_json, get("referrers")),
            devices=read_many(ValueCount.from_json, get("devices")),
            browsers=read_many(ValueCount.from_json, get("browsers")),
            platforms=read_many(ValueCount.from_json, get("platforms")),
            hours=read_many(Hour.from_json, get("hours")),
            top_links=read_many(TopLink.from_json, get("top_links")),
            tags=read_many(ValueCount.from_json, get("tags")),
            hostnames=read_many(ValueCount.from_json, get("hostnames")),
            utm_sources=read_many(ValueCount.from_json, get("utm_sources")),
            utm_mediums=read_many(ValueCount.from_json, get("utm_mediums")),
            utm_campaigns=read_many(ValueCount.from_json, get("utm_campaigns")),
            previous=read_optional(PreviousStats.from_json, get("previous")),
        )


@dataclass(frozen=True)
class Alias:
    id: str
    """ID."""
    link_id: str
    """ID of the link."""
    hostname: str
    """Hostname, such as go.example.com."""
    path: str
    """Path without its leading slash, percent-decoded."""
    created_at: datetime
    """Time of creation."""

    @classmethod
    def from_json(cls, data: Any) -> Alias:
        get = data.get
        return new(
            cls,
            id=get("id"),
            link_id=get("link_id"),
            hostname=get("hostname"),
            path=get("path"),
            created_at=read_time(get("created_at")),
        )


@dataclass(frozen=True)
class ApiKey:
    id: str
    """ID."""
    name: str
    """Name."""
    prefix: str
    """First characters of the key."""
    scopes: list[Scope | str]
    """What the key may do."""
    last_used_at: datetime | None
    """Last request with the key; None if it was never used."""
    expires_at: datetime | None
    """Time of expiry; None for never."""
    created_at: datetime
    """Time of creation."""

    @classmethod
    def from_json(cls, data: Any) -> ApiKey:
        get = data.get
        return new(
            cls,
            id=get("id"),
            name=get("name"),
            prefix=get("prefix"),
            scopes=get("scopes"),
            last_used_at=read_time(get("last_used_at")),
            expires_at=read_time(get("expires_at")),
            created_at=read_time(get("created_at")),
        )


@dataclass(frozen=True)
class AppLinks:
    apple_app_site_association: dict[str, Any] | None
    """Document for iOS and macOS, at most 128 KiB; None if there is none."""
    assetlinks: list[Any] | None
    """Document for Android: a list of statements, at most 128 KiB; None if there is none."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> AppLinks:
        get = data.get
        return new(
            cls,
            apple_app_site_association=get("apple_app_site_association"),
            assetlinks=get("assetlinks"),
        )


@dataclass(frozen=True)
class BulkCreateMeta:
    created: int
    """Number of links that were created."""
    invalid: int
    """Number of entries that were refused."""
    retry: int | None = None
    """Number of entries that did not get their turn within 30 seconds. Missing if there are none."""

    @classmethod
    def from_json(cls, data: Any) -> BulkCreateMeta:
        get = data.get
        return new(
            cls,
            created=get("created"),
            invalid=get("invalid"),
            retry=get("retry"),
        )


@dataclass(frozen=True)
class BulkCreateResponse:
    data: list[BulkCreateRow]
    """The result."""
    meta: BulkCreateMeta
    """Number of entries by status."""

    @classmethod
    def from_json(cls, data: Any) -> BulkCreateResponse:
        get = data.get
        return new(
            cls,
            data=read_many(BulkCreateRow.from_json, get("data")),
            meta=BulkCreateMeta.from_json(get("meta") or {}),
        )


@dataclass(frozen=True)
class BulkCreateRow:
    index: int
    """Position in the list that was sent, from 0."""
    status: BulkCreateStatus | str
    """Status."""
    link: Link | None = None
    """The link that was created."""
    errors: dict[str, list[str]] | None = None
    """Problems of each field."""

    @classmethod
    def from_json(cls, data: Any) -> BulkCreateRow:
        get = data.get
        return new(
            cls,
            index=get("index"),
            status=get("status"),
            link=read_optional(Link.from_json, get("link")),
            errors=get("errors"),
        )


@dataclass(frozen=True)
class BulkDeleteMeta:
    deleted: int
    """Number of links that were deleted."""
    not_found: int
    """Number of ids that are not of a link of the account."""

    @classmethod
    def from_json(cls, data: Any) -> BulkDeleteMeta:
        get = data.get
        return new(
            cls,
            deleted=get("deleted"),
            not_found=get("not_found"),
        )


@dataclass(frozen=True)
class BulkDeleteResponse:
    data: list[BulkDeleteRow]
    """The result."""
    meta: BulkDeleteMeta
    """Number of entries by status."""

    @classmethod
    def from_json(cls, data: Any) -> BulkDeleteResponse:
        get = data.get
        return new(
            cls,
            data=read_many(BulkDeleteRow.from_json, get("data")),
            meta=BulkDeleteMeta.from_json(get("meta") or {}),
        )


@dataclass(frozen=True)
class BulkDeleteRow:
    id: str
    """ID."""
    status: BulkDeleteStatus | str
    """Status."""

    @classmethod
    def from_json(cls, data: Any) -> BulkDeleteRow:
        get = data.get
        return new(
            cls,
            id=get("id"),
            status=get("status"),
        )


@dataclass(frozen=True)
class BulkUpdateMeta:
    updated: int
    """Number of links that were changed."""
    unchanged: int
    """Number of links that were like this before."""
    not_found: int
    """Number of ids that are not of a link of the account."""
    invalid: int
    """Number of entries that were refused."""

    @classmethod
    def from_json(cls, data: Any) -> BulkUpdateMeta:
        get = data.get
        return new(
            cls,
            updated=get("updated"),
            unchanged=get("unchanged"),
            not_found=get("not_found"),
            invalid=get("invalid"),
        )


@dataclass(frozen=True)
class BulkUpdateResponse:
    data: list[BulkUpdateRow]
    """The result."""
    meta: BulkUpdateMeta
    """Number of entries by status."""

    @classmethod
    def from_json(cls, data: Any) -> BulkUpdateResponse:
        get = data.get
        return new(
            cls,
            data=read_many(BulkUpdateRow.from_json, get("data")),
            meta=BulkUpdateMeta.from_json(get("meta") or {}),
        )


@dataclass(frozen=True)
class BulkUpdateRow:
    id: str
    """ID."""
    status: BulkUpdateStatus | str
    """Status."""
    errors: dict[str, list[str]] | None = None
    """Problems of each field."""

    @classmethod
    def from_json(cls, data: Any) -> BulkUpdateRow:
        get = data.get
        return new(
            cls,
            id=get("id"),
            status=get("status"),
            errors=get("errors"),
        )


@dataclass(frozen=True)
class Click:
    id: str
    """ID."""
    link_id: str
    """ID of the link."""
    ip: str
    """IP address, as far as the privacy settings store it."""
    country: str
    """ISO 3166-1 country code; empty if unknown."""
    visitor_id: str
    """The same for clicks of one visitor on one UTC day."""
    referrer: str
    """Origin and path of the referring page; empty if unknown."""
    device: Device | str
    """desktop, mobile, tablet or other."""
    browser: str
    """Browser family, such as Firefox."""
    platform: str
    """Operating system, such as Android."""
    created_at: datetime
    """Time of creation."""
    is_scan: bool
    """Whether the QR code was scanned."""
    kind: ClickKind | str
    """human, crawler, preview (of a chat or social network) or prefetch (by a browser)."""
    bot: str | None
    """Name of the bot; None for people."""

    @classmethod
    def from_json(cls, data: Any) -> Click:
        get = data.get
        return new(
            cls,
            id=get("id"),
            link_id=get("link_id"),
            ip=get("ip"),
            country=get("country"),
            visitor_id=get("visitor_id"),
            referrer=get("referrer"),
            device=get("device"),
            browser=get("browser"),
            platform=get("platform"),
            created_at=read_time(get("created_at")),
            is_scan=get("is_scan"),
            kind=get("kind"),
            bot=get("bot"),
        )


@dataclass(frozen=True)
class ClickEvent:
    id: str
    """ID."""
    link_id: str
    """ID of the link."""
    ip: str
    """IP address, as far as the privacy settings store it."""
    country: str
    """ISO 3166-1 country code; empty if unknown."""
    visitor_id: str
    """The same for clicks of one visitor on one UTC day."""
    referrer: str
    """Origin and path of the referring page; empty if unknown."""
    device: Device | str
    """desktop, mobile, tablet or other."""
    browser: str
    """Browser family, such as Firefox."""
    platform: str
    """Operating system, such as Android."""
    created_at: datetime
    """Time of creation."""

    @classmethod
    def from_json(cls, data: Any) -> ClickEvent:
        get = data.get
        return new(
            cls,
            id=get("id"),
            link_id=get("link_id"),
            ip=get("ip"),
            country=get("country"),
            visitor_id=get("visitor_id"),
            referrer=get("referrer"),
            device=get("device"),
            browser=get("browser"),
            platform=get("platform"),
            created_at=read_time(get("created_at")),
        )


@dataclass(frozen=True)
class Condition:
    type: ConditionType | str
    """What the condition compares."""
    operator: ConditionOperator | str
    """`in` (default) or `not_in`. What is unknown or absent is in no list."""
    name: str | None = None
    """Name of the query parameter."""
    values: list[str] | None = None
    """1 to 250 values, for all types but `time` and `schedule`."""
    weekdays: list[int] | None = None
    """Days on which a schedule starts, from 1 for Monday to 7 for Sunday."""
    from_: str | None = None
    """Start: for `time` a time, or None; for `schedule` a time of day, such as 09:00."""
    to: str | None = None
    """End, exclusive: like `from`. A schedule that does not end after its start ends on the next day."""
    timezone: str | None = None
    """Time zone of a schedule."""

    @classmethod
    def from_json(cls, data: Any) -> Condition:
        get = data.get
        return new(
            cls,
            type=get("type"),
            operator=get("operator"),
            name=get("name"),
            values=get("values"),
            weekdays=get("weekdays"),
            from_=get("from"),
            to=get("to"),
            timezone=get("timezone"),
        )


@dataclass(frozen=True)
class CreatedWebhook:
    id: str
    """ID."""
    url: str
    """https:// URL that receives the events."""
    event_types: list[EventType | str]
    """Event types that are delivered."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""
    secret: str
    """Signing secret. It is returned only once."""

    @classmethod
    def from_json(cls, data: Any) -> CreatedWebhook:
        get = data.get
        return new(
            cls,
            id=get("id"),
            url=get("url"),
            event_types=get("event_types"),
            created_at=read_time(get("created_at")),
            updated_at=read_time(get("updated_at")),
            secret=get("secret"),
        )


@dataclass(frozen=True)
class Delivery:
    id: str
    """ID."""
    event: DeliveryEventType | str
    """Event type, such as `link.created`."""
    status: DeliveryStatus | str
    """Status of the delivery."""
    attempts: int
    """Number of attempts so far."""
    next_attempt_at: datetime | None
    """Time of the next attempt; None if there is none."""
    response_status: int | None
    """HTTP status of the last response; None if there was none."""
    error: str | None
    """Why the last attempt failed; None if it did not."""
    created_at: datetime
    """Time of creation."""

    @classmethod
    def from_json(cls, data: Any) -> Delivery:
        get = data.get
        return new(
            cls,
            id=get("id"),
            event=get("event"),
            status=get("status"),
            attempts=get("attempts"),
            next_attempt_at=read_time(get("next_attempt_at")),
            response_status=get("response_status"),
            error=get("error"),
            created_at=read_time(get("created_at")),
        )


@dataclass(frozen=True)
class DnsRecord:
    type: DnsRecordType | str
    """Type of the DNS record."""
    name: str
    """Name of the DNS record."""
    value: str
    """Value of the DNS record."""

    @classmethod
    def from_json(cls, data: Any) -> DnsRecord:
        get = data.get
        return new(
            cls,
            type=get("type"),
            name=get("name"),
            value=get("value"),
        )


@dataclass(frozen=True)
class Domain:
    id: str
    """ID."""
    hostname: str
    """Hostname, such as go.example.com."""
    status: DomainStatus | str
    """`verified` when one of the DNS records was found."""
    verified_at: datetime | None
    """Time of the verification; None if the domain is not verified."""
    last_checked_at: datetime | None
    """Last DNS check; None before the first."""
    error: str | None
    """Why the last check failed; None if it did not."""
    dns_records: list[DnsRecord]
    """DNS records that verify the domain; one of them is enough."""
    root_url: str | None
    """URL for visitors who open the domain without a slug; None for an error page."""
    not_found_url: str | None
    """URL for visitors of unknown, expired or disabled links of the domain; None for an error page."""
    links_count: int
    """Number of links on the domain."""
    tls: Tls
    """HTTPS certificate of the domain."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> Domain:
        get = data.get
        return new(
            cls,
            id=get("id"),
            hostname=get("hostname"),
            status=get("status"),
            verified_at=read_time(get("verified_at")),
            last_checked_at=read_time(get("last_checked_at")),
            error=get("error"),
            dns_records=read_many(DnsRecord.from_json, get("dns_records")),
            root_url=get("root_url"),
            not_found_url=get("not_found_url"),
            links_count=get("links_count"),
            tls=Tls.from_json(get("tls") or {}),
            created_at=read_time(get("created_at")),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class DomainAppearance:
    domain_id: str
    """ID of the domain."""
    name: str | None
    """Name above each page, which links to the domain's root URL if it has one."""
    color: str | None
    """Color of buttons, links and the edge of the page. Where text of it would be hard to read, it is made darker,
    or lighter on a dark background."""
    not_found_text: str | None
    """Text for visitors of an address that no link has, or a disabled one."""
    expired_text: str | None
    """Text for visitors of a link that has expired or reached its click limit."""
    not_started_text: str | None
    """Text for visitors of a link before its start."""
    password_text: str | None
    """Text above the form that asks for the password of a link."""
    updated_at: datetime | None
    """Time of the last change; None if there was none."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> DomainAppearance:
        get = data.get
        return new(
            cls,
            domain_id=get("domain_id"),
            name=get("name"),
            color=get("color"),
            not_found_text=get("not_found_text"),
            expired_text=get("expired_text"),
            not_started_text=get("not_started_text"),
            password_text=get("password_text"),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class DomainOptions:
    domain_id: str
    """ID of the domain."""
    forward_query: str | list[str]
    """Which parameters of the visitor's query are added to the destination: "none", "all", or 1 to 20 names, of
    which an asterisk at the end matches the rest."""
    forward_path: bool
    """Whether what follows the link's path in the visitor's address is added to the path of the destination."""
    ignore_case: bool
    """Whether visitors reach a link by its address in other case, if no other link of the domain differs by nothing
    else and its slug was not generated."""
    slug_length: int
    """Characters of generated slugs."""
    slug_alphabet: SlugAlphabet | str
    """Characters of generated slugs: letters and digits, only small letters and digits, or digits. Those that look
    like others are left out where there are letters."""
    updated_at: datetime | None
    """Time of the last change; None if there was none."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> DomainOptions:
        get = data.get
        return new(
            cls,
            domain_id=get("domain_id"),
            forward_query=get("forward_query"),
            forward_path=get("forward_path"),
            ignore_case=get("ignore_case"),
            slug_length=get("slug_length"),
            slug_alphabet=get("slug_alphabet"),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class Filters:
    country: list[str] | None = None
    """Two-letter country codes, or `unknown`; `-` before one excludes it."""
    device: list[str] | None = None
    """Types of device: desktop, mobile, tablet, other; `-` before one excludes it."""
    browser: list[str] | None = None
    """Browser families, or `unknown`; `-` before one excludes it."""
    platform: list[str] | None = None
    """Operating system families, or `unknown`; `-` before one excludes it."""
    referrer: list[str] | None = None
    """Origin and path of the referring page, a host for all its pages, or `direct`; `-` before one excludes it."""
    target: list[str] | None = None
    """Names of rules and variants, or `default`; `-` before one excludes it."""
    is_scan: list[str] | None = None
    """`true` for scans of QR codes, `false` for other clicks; `-` before one excludes it."""
    link_id: list[str] | None = None
    """IDs of links; `-` before one excludes it."""
    tag: list[str] | None = None
    """Tags that links have now, `none` for links without tags; `-` before one excludes it."""
    hostname: list[str] | None = None
    """Hostnames of links; `-` before one excludes it."""
    utm_source: list[str] | None = None
    """UTM sources of links, `none` for links without one; `-` before one excludes it."""
    utm_medium: list[str] | None = None
    """UTM mediums of links, `none` for links without one; `-` before one excludes it."""
    utm_campaign: list[str] | None = None
    """UTM campaigns of links, `none` for links without one; `-` before one excludes it."""
    utm_term: list[str] | None = None
    """UTM terms of links, `none` for links without one; `-` before one excludes it."""
    utm_content: list[str] | None = None
    """UTM contents of links, `none` for links without one; `-` before one excludes it."""

    @classmethod
    def from_json(cls, data: Any) -> Filters:
        get = data.get
        return new(
            cls,
            country=get("country"),
            device=get("device"),
            browser=get("browser"),
            platform=get("platform"),
            referrer=get("referrer"),
            target=get("target"),
            is_scan=get("is_scan"),
            link_id=get("link_id"),
            tag=get("tag"),
            hostname=get("hostname"),
            utm_source=get("utm_source"),
            utm_medium=get("utm_medium"),
            utm_campaign=get("utm_campaign"),
            utm_term=get("utm_term"),
            utm_content=get("utm_content"),
        )


@dataclass(frozen=True)
class Hour:
    weekday: int
    """Day of the week, from 1 for Monday to 7."""
    hour: int
    """Hour of the day, from 0 to 23, in the time zone of the intervals."""
    clicks: int
    """Number of clicks by people, including QR code scans."""

    @classmethod
    def from_json(cls, data: Any) -> Hour:
        get = data.get
        return new(
            cls,
            weekday=get("weekday"),
            hour=get("hour"),
            clicks=get("clicks"),
        )


@dataclass(frozen=True)
class Limits:
    requests_per_minute: int
    """Requests per minute and key."""

    @classmethod
    def from_json(cls, data: Any) -> Limits:
        get = data.get
        return new(
            cls,
            requests_per_minute=get("requests_per_minute"),
        )


@dataclass(frozen=True)
class Link:
    id: str
    """ID."""
    title: str
    """Title."""
    destination_url: str
    """http:// or https:// URL that visitors are redirected to, including the UTM parameters."""
    short_url: str
    """Short URL, to share."""
    slug: str
    """Path of the short URL."""
    hostname: str
    """Custom domain of the link, or the shared domain."""
    og_title: str | None
    """Title in link previews."""
    og_description: str | None
    """Description in link previews."""
    og_image: str | None
    """URL of the image in link previews."""
    utm_params: UtmParams
    """UTM parameters, which are added to the destination URL."""
    tags: list[str]
    """Tags."""
    expires_at: datetime | None
    """Time of expiry; None for never."""
    pixel_ids: list[str]
    """IDs of the pixels that fire on the link."""
    clicks: int
    """Number of clicks by people, including QR code scans."""
    status: LinkStatus | str
    """active, or inactive (disabled, expired, before its start or after its click limit)."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> Link:
        get = data.get
        return new(
            cls,
            id=get("id"),
            title=get("title"),
            destination_url=get("destination_url"),
            short_url=get("short_url"),
            slug=get("slug"),
            hostname=get("hostname"),
            og_title=get("og_title"),
            og_description=get("og_description"),
            og_image=get("og_image"),
            utm_params=UtmParams.from_json(get("utm_params") or {}),
            tags=get("tags"),
            expires_at=read_time(get("expires_at")),
            pixel_ids=get("pixel_ids"),
            clicks=get("clicks"),
            status=get("status"),
            created_at=read_time(get("created_at")),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class LinkHealth:
    link_id: str
    """ID of the link."""
    status: HealthStatus | str
    """What the visits found."""
    checked_at: datetime | None
    """Time of the last visit."""
    http_status: int | None
    """HTTP status of the response; None without a response."""
    reason: str | None
    """What is wrong, in words."""
    since: datetime | None
    """First visit in a row with success, or without."""

    @classmethod
    def from_json(cls, data: Any) -> LinkHealth:
        get = data.get
        return new(
            cls,
            link_id=get("link_id"),
            status=get("status"),
            checked_at=read_time(get("checked_at")),
            http_status=get("http_status"),
            reason=get("reason"),
            since=read_time(get("since")),
        )


@dataclass(frozen=True)
class LinkOptions:
    link_id: str
    """ID of the link."""
    forward_query: str | list[str] | None
    """Which parameters of the visitor's query are added to the destination: "none", "all", or 1 to 20 names, of
    which an asterisk at the end matches the rest; None as the domain says."""
    forward_path: bool | None
    """Whether what follows the link's path in the visitor's address is added to the path of the destination; None as
    the domain says."""
    note: str | None
    """Text for the members of the account, which searches find."""
    external_id: str | None
    """ID of the link in another system: visible characters without blanks, unique in the account."""
    updated_at: datetime
    """Time of the last change of the link."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> LinkOptions:
        get = data.get
        return new(
            cls,
            link_id=get("link_id"),
            forward_query=get("forward_query"),
            forward_path=get("forward_path"),
            note=get("note"),
            external_id=get("external_id"),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class LinkStats:
    from_: datetime
    """Start of the time range."""
    to: datetime
    """End of the time range, exclusive."""
    interval: StatsInterval | str
    """Length of an entry of `series`."""
    timezone: str
    """Time zone of the intervals."""
    clicks: int
    """Number of clicks by people, including QR code scans."""
    visitors: int | None
    """Number of unique visitors. A visitor counts once per UTC day. Null for several links on days whose clicks were
    deleted."""
    scans: int
    """Number of QR code scans, included in `clicks`."""
    crawlers: int
    """Number of visits by crawlers, not included in `clicks`."""
    previews: int
    """Number of requests for link previews, not included in `clicks`."""
    first_clicked_at: datetime | None
    """First click in the time range; None if there is none."""
    last_clicked_at: datetime | None
    """Last click in the time range; None if there is none."""
    series: list[StatsEntry]
    """Numbers for each interval of the time range."""
    countries: list[ValueCount]
    """Clicks by country code, the 50 most frequent."""
    referrers: list[ValueCount]
    """Clicks by referrer, the 50 most frequent."""
    devices: list[ValueCount]
    """Clicks by device type."""
    browsers: list[ValueCount]
    """Clicks by browser family, the 50 most frequent."""
    platforms: list[ValueCount]
    """Clicks by operating system, the 50 most frequent."""
    hours: list[Hour]
    """Clicks by hour of the week, without hours that have no clicks."""
    link_id: str
    """ID of the link."""
    imported_clicks: int
    """Clicks that another service counted before the link was imported, for all time and in no other number; 0 if
    there are none."""
    targets: list[ValueCount]
    """Clicks by the name of the rule or variant that the visitor was sent to, or `default`."""
    previous: PreviousStats | None = None
    """The earlier time range, if `compare` was sent: cut at the same time of day."""

    @classmethod
    def from_json(cls, data: Any) -> LinkStats:
        get = data.get
        return new(
            cls,
            from_=read_time(get("from")),
            to=read_time(get("to")),
            interval=get("interval"),
            timezone=get("timezone"),
            clicks=get("clicks"),
            visitors=get("visitors"),
            scans=get("scans"),
            crawlers=get("crawlers"),
            previews=get("previews"),
            first_clicked_at=read_time(get("first_clicked_at")),
            last_clicked_at=read_time(get("last_clicked_at")),
            series=read_many(StatsEntry.from_json, get("series")),
            countries=read_many(ValueCount.from_json, get("countries")),
            referrers=read_many(ValueCount.from_json, get("referrers")),
            devices=read_many(ValueCount.from_json, get("devices")),
            browsers=read_many(ValueCount.from_json, get("browsers")),
            platforms=read_many(ValueCount.from_json, get("platforms")),
            hours=read_many(Hour.from_json, get("hours")),
            link_id=get("link_id"),
            imported_clicks=get("imported_clicks"),
            targets=read_many(ValueCount.from_json, get("targets")),
            previous=read_optional(PreviousStats.from_json, get("previous")),
        )


@dataclass(frozen=True)
class ListedApiKey:
    id: str
    """ID."""
    name: str
    """Name."""
    prefix: str
    """First characters of the key."""
    scopes: list[Scope | str]
    """What the key may do."""
    last_used_at: datetime | None
    """Last request with the key; None if it was never used."""
    expires_at: datetime | None
    """Time of expiry; None for never."""
    created_at: datetime
    """Time of creation."""
    revoked_at: datetime | None
    """When the key was revoked; None if it is valid."""

    @classmethod
    def from_json(cls, data: Any) -> ListedApiKey:
        get = data.get
        return new(
            cls,
            id=get("id"),
            name=get("name"),
            prefix=get("prefix"),
            scopes=get("scopes"),
            last_used_at=read_time(get("last_used_at")),
            expires_at=read_time(get("expires_at")),
            created_at=read_time(get("created_at")),
            revoked_at=read_time(get("revoked_at")),
        )


@dataclass(frozen=True)
class Logo:
    width: int
    """Width in pixels, after cropping to the content."""
    height: int
    """Height in pixels, after cropping to the content."""
    url: str
    """URL of the PNG image, a new one after each upload."""
    updated_at: datetime
    """Time of the upload."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> Logo:
        get = data.get
        return new(
            cls,
            width=get("width"),
            height=get("height"),
            url=get("url"),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class Me:
    id: str
    """ID."""
    name: str
    """Name."""
    email: str
    """Email of the account."""
    created_at: datetime
    """Time of creation."""
    plan: Plan
    """Plan of the account."""
    token: ApiKey
    """The key of this request."""
    limits: Limits
    """Limits of the account."""
    shared_domain: str
    """Domain of links without a custom domain."""

    @classmethod
    def from_json(cls, data: Any) -> Me:
        get = data.get
        return new(
            cls,
            id=get("id"),
            name=get("name"),
            email=get("email"),
            created_at=read_time(get("created_at")),
            plan=Plan.from_json(get("plan") or {}),
            token=ApiKey.from_json(get("token") or {}),
            limits=Limits.from_json(get("limits") or {}),
            shared_domain=get("shared_domain"),
        )


@dataclass(frozen=True)
class MissedAddress:
    path: str
    """Path that visitors tried, from the slash on; long ones are cut."""
    visits: int
    """Visits of people."""
    first_at: datetime
    """Time of the first visit."""
    last_at: datetime
    """Time of the last visit."""

    @classmethod
    def from_json(cls, data: Any) -> MissedAddress:
        get = data.get
        return new(
            cls,
            path=get("path"),
            visits=get("visits"),
            first_at=read_time(get("first_at")),
            last_at=read_time(get("last_at")),
        )


@dataclass(frozen=True)
class PageMeta:
    from_: int | None
    """Position of the first item of this page, from 1; None if the page is empty."""
    current_page: int
    """Number of this page."""
    last_page: int
    """Number of the last page."""
    path: str
    """URL of the list, without parameters."""
    per_page: int
    """Items per page."""
    to: int | None
    """Position of the last item of this page; None if the page is empty."""
    total: int
    """Number of items on all pages."""

    @classmethod
    def from_json(cls, data: Any) -> PageMeta:
        get = data.get
        return new(
            cls,
            from_=get("from"),
            current_page=get("current_page"),
            last_page=get("last_page"),
            path=get("path"),
            per_page=get("per_page"),
            to=get("to"),
            total=get("total"),
        )


@dataclass(frozen=True)
class Pixel:
    id: str
    """ID."""
    platform: PixelPlatform | str
    """Advertising platform."""
    name: str
    """Name."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> Pixel:
        get = data.get
        return new(
            cls,
            id=get("id"),
            platform=get("platform"),
            name=get("name"),
            created_at=read_time(get("created_at")),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class PixelFired:
    pixel_id: str
    """ID of the pixel."""
    platform: PixelPlatform | str
    """Advertising platform."""
    link_id: str
    """ID of the link."""
    visit_id: str | None
    """ID of the click that triggered it."""

    @classmethod
    def from_json(cls, data: Any) -> PixelFired:
        get = data.get
        return new(
            cls,
            pixel_id=get("pixel_id"),
            platform=get("platform"),
            link_id=get("link_id"),
            visit_id=get("visit_id"),
        )


@dataclass(frozen=True)
class PixelResults:
    sent: int
    """Events that the platform accepted."""
    rejected: int
    """Events that the platform rejected."""
    dropped: int
    """Events that were not sent: too old, too many, incomplete, or tried too often."""
    sent_at: datetime | None
    """Time of the last accepted event."""
    reason: str | None
    """Why the last event that was not accepted was rejected or dropped."""
    reason_at: datetime | None
    """Time of `reason`."""

    @classmethod
    def from_json(cls, data: Any) -> PixelResults:
        get = data.get
        return new(
            cls,
            sent=get("sent"),
            rejected=get("rejected"),
            dropped=get("dropped"),
            sent_at=read_time(get("sent_at")),
            reason=get("reason"),
            reason_at=read_time(get("reason_at")),
        )


@dataclass(frozen=True)
class Plan:
    type: PlanType | str
    """Type of the plan."""
    status: str | None
    """Status of the subscription; None for other plans."""
    active: bool
    """Whether the plan permits requests to the API."""
    trial_ends_at: datetime | None
    """End of the trial; None for other plans."""
    renews_at: datetime | None
    """When the subscription renews; None if it does not."""

    @classmethod
    def from_json(cls, data: Any) -> Plan:
        get = data.get
        return new(
            cls,
            type=get("type"),
            status=get("status"),
            active=get("active"),
            trial_ends_at=read_time(get("trial_ends_at")),
            renews_at=read_time(get("renews_at")),
        )


@dataclass(frozen=True)
class PreviousStats:
    from_: datetime
    """Start of the earlier time range."""
    to: datetime
    """End of the earlier time range, exclusive."""
    clicks: int
    """Number of clicks by people, including QR code scans."""
    visitors: int | None
    """Number of unique visitors. A visitor counts once per UTC day. Null for several links on days whose clicks were
    deleted."""
    scans: int
    """Number of QR code scans, included in `clicks`."""
    series: list[StatsEntry]
    """Numbers for each interval of the earlier time range."""

    @classmethod
    def from_json(cls, data: Any) -> PreviousStats:
        get = data.get
        return new(
            cls,
            from_=read_time(get("from")),
            to=read_time(get("to")),
            clicks=get("clicks"),
            visitors=get("visitors"),
            scans=get("scans"),
            series=read_many(StatsEntry.from_json, get("series")),
        )


@dataclass(frozen=True)
class QrCode:
    id: str
    """ID."""
    link_id: str
    """ID of the link."""
    foreground: str
    """Color of the code, such as #000 or #000000."""
    background: str
    """Background color, such as #fff or #ffffff."""
    level: ErrorCorrection | str
    """Error correction of the image, which a logo raises as needed."""
    style: ModuleStyle | str
    """Shape of the modules."""
    size: int
    """Width and height of the PNG image in pixels."""
    margin: int
    """Empty space around the code, in modules. The standard is 4."""
    width_mm: int
    """Width of the PDF in millimeters."""
    logo: bool
    """Whether to show the logo of the domain, or else of the account."""
    logo_size: float
    """Longer side of the logo, as a fraction of the code's width."""
    frame: FrameStyle | str
    """Frame around the code: none, or with text at the bottom."""
    frame_text: str
    """Text of the frame."""
    warnings: list[str]
    """Why scanners may not read the code."""
    scans: int
    """Number of scans of the code."""
    image_url: str
    """Signed URL of the PNG image; use it unchanged."""
    svg_url: str
    """Signed URL of the SVG image; use it unchanged."""
    pdf_url: str
    """Signed URL of the PDF file, which is drawn in lines and areas for print; use it unchanged."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> QrCode:
        get = data.get
        return new(
            cls,
            id=get("id"),
            link_id=get("link_id"),
            foreground=get("foreground"),
            background=get("background"),
            level=get("level"),
            style=get("style"),
            size=get("size"),
            margin=get("margin"),
            width_mm=get("width_mm"),
            logo=get("logo"),
            logo_size=get("logo_size"),
            frame=get("frame"),
            frame_text=get("frame_text"),
            warnings=get("warnings"),
            scans=get("scans"),
            image_url=get("image_url"),
            svg_url=get("svg_url"),
            pdf_url=get("pdf_url"),
            created_at=read_time(get("created_at")),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class Routing:
    link_id: str
    """ID of the link."""
    rules: list[Rule]
    """At most 20 rules; the first that matches counts."""
    variants: list[Variant]
    """At most 10 variants, for visitors without a matching rule. The weights add up to at most 100."""
    starts_at: datetime | None
    """Time before which the link does not redirect; None for no start."""
    click_limit: int | None
    """Number of clicks after which the link ends; None for no limit."""
    fallback_url: str | None
    """URL for visitors before the start, after the click limit, and of an expired link; None for an error page."""
    has_password: bool
    """Whether visitors have to enter a password."""
    updated_at: datetime | None
    """Time of the last change."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> Routing:
        get = data.get
        return new(
            cls,
            link_id=get("link_id"),
            rules=read_many(Rule.from_json, get("rules")),
            variants=read_many(Variant.from_json, get("variants")),
            starts_at=read_time(get("starts_at")),
            click_limit=get("click_limit"),
            fallback_url=get("fallback_url"),
            has_password=get("has_password"),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class Rule:
    name: str
    """Name."""
    conditions: list[Condition]
    """1 to 5 conditions, all of which must hold."""
    destination_url: str
    """http:// or https:// URL that visitors are redirected to. It gets no UTM parameters."""

    @classmethod
    def from_json(cls, data: Any) -> Rule:
        get = data.get
        return new(
            cls,
            name=get("name"),
            conditions=read_many(Condition.from_json, get("conditions")),
            destination_url=get("destination_url"),
        )


@dataclass(frozen=True)
class Share:
    from_: datetime | None
    """Start of the time range that can be seen; None for no limit."""
    id: str
    """ID."""
    name: str
    """Name, which visitors see."""
    link_id: str | None
    """ID of the link whose statistics are shown."""
    tag: str | None
    """Tag of the links whose statistics are shown."""
    hostname: str | None
    """Hostname of the links whose statistics are shown."""
    filters: Filters
    """Only clicks that match are shown."""
    to: datetime | None
    """End of the time range that can be seen, exclusive; None for no limit."""
    has_password: bool
    """Whether visitors have to enter a password."""
    expires_at: datetime | None
    """Time of expiry; None for never."""
    hide_below: int
    """Entries with fewer clicks are summed up as `(other)`, and smaller totals are not shown. 0 shows all."""
    embed_origins: list[str]
    """Origins of pages that may embed the statistics: https, or http on localhost."""
    url: str | None
    """URL of the statistics; None unless the key has `links:write`."""
    embed_url: str | None
    """URL for a frame in pages of `embed_origins`; None without these, and unless the key has `links:write`."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> Share:
        get = data.get
        return new(
            cls,
            from_=read_time(get("from")),
            id=get("id"),
            name=get("name"),
            link_id=get("link_id"),
            tag=get("tag"),
            hostname=get("hostname"),
            filters=Filters.from_json(get("filters") or {}),
            to=read_time(get("to")),
            has_password=get("has_password"),
            expires_at=read_time(get("expires_at")),
            hide_below=get("hide_below"),
            embed_origins=get("embed_origins"),
            url=get("url"),
            embed_url=get("embed_url"),
            created_at=read_time(get("created_at")),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class StatsEntry:
    at: datetime
    """Start of the interval, in UTC."""
    clicks: int
    """Number of clicks by people, including QR code scans."""
    visitors: int | None
    """Number of unique visitors. A visitor counts once per UTC day. Null for several links on days whose clicks were
    deleted."""
    scans: int
    """Number of QR code scans, included in `clicks`."""

    @classmethod
    def from_json(cls, data: Any) -> StatsEntry:
        get = data.get
        return new(
            cls,
            at=read_time(get("at")),
            clicks=get("clicks"),
            visitors=get("visitors"),
            scans=get("scans"),
        )


@dataclass(frozen=True)
class Tag:
    id: str
    """ID."""
    name: str
    """Name; upper and lower case differ."""
    color: TagColor | str
    """Color of the tag in the dashboard."""
    links_count: int
    """Number of links that have the tag."""
    clicks: int
    """Sum of the clicks of these links; some minutes old on a page of tags with very many links."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> Tag:
        get = data.get
        return new(
            cls,
            id=get("id"),
            name=get("name"),
            color=get("color"),
            links_count=get("links_count"),
            clicks=get("clicks"),
            created_at=read_time(get("created_at")),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class TestEventData:
    webhook_id: str
    """ID of the webhook."""

    @classmethod
    def from_json(cls, data: Any) -> TestEventData:
        get = data.get
        return new(
            cls,
            webhook_id=get("webhook_id"),
        )


@dataclass(frozen=True)
class Tls:
    status: TlsStatus | str
    """Status of the certificate."""
    expires_at: datetime | None
    """When the certificate expires; None if there is none."""
    error: str | None
    """Why the last attempt failed; None if it did not."""

    @classmethod
    def from_json(cls, data: Any) -> Tls:
        get = data.get
        return new(
            cls,
            status=get("status"),
            expires_at=read_time(get("expires_at")),
            error=get("error"),
        )


@dataclass(frozen=True)
class TopLink:
    link_id: str
    """ID of the link."""
    short_url: str | None
    """Short URL of the link; None for a deleted link."""
    title: str | None
    """Title of the link; None for a deleted link."""
    clicks: int
    """Number of clicks by people, including QR code scans."""
    visitors: int | None = None
    """Number of unique visitors, if `visitors=true` was sent; None if clicks of some days were deleted."""

    @classmethod
    def from_json(cls, data: Any) -> TopLink:
        get = data.get
        return new(
            cls,
            link_id=get("link_id"),
            short_url=get("short_url"),
            title=get("title"),
            clicks=get("clicks"),
            visitors=get("visitors"),
        )


@dataclass(frozen=True)
class UtmParams:
    utm_source: str | None = None
    """Source of the visitors, such as newsletter."""
    utm_medium: str | None = None
    """Medium, such as email."""
    utm_campaign: str | None = None
    """Campaign."""
    utm_term: str | None = None
    """Search term."""
    utm_content: str | None = None
    """Content, which distinguishes links of a campaign."""

    @classmethod
    def from_json(cls, data: Any) -> UtmParams:
        get = data.get
        return new(
            cls,
            utm_source=get("utm_source"),
            utm_medium=get("utm_medium"),
            utm_campaign=get("utm_campaign"),
            utm_term=get("utm_term"),
            utm_content=get("utm_content"),
        )


@dataclass(frozen=True)
class UtmTemplate:
    id: str
    """ID."""
    name: str
    """Name."""
    utm_params: UtmParams
    """UTM parameters, at least one."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> UtmTemplate:
        get = data.get
        return new(
            cls,
            id=get("id"),
            name=get("name"),
            utm_params=UtmParams.from_json(get("utm_params") or {}),
            created_at=read_time(get("created_at")),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class ValueCount:
    value: str
    """Value."""
    clicks: int
    """Number of clicks by people, including QR code scans."""
    visitors: int | None = None
    """Number of unique visitors, if `visitors=true` was sent; None if clicks of some days were deleted."""

    @classmethod
    def from_json(cls, data: Any) -> ValueCount:
        get = data.get
        return new(
            cls,
            value=get("value"),
            clicks=get("clicks"),
            visitors=get("visitors"),
        )


@dataclass(frozen=True)
class Variant:
    name: str
    """Name."""
    destination_url: str
    """http:// or https:// URL that visitors are redirected to. It gets no UTM parameters."""
    weight: int
    """Percentage of the visitors, 1 to 100."""

    @classmethod
    def from_json(cls, data: Any) -> Variant:
        get = data.get
        return new(
            cls,
            name=get("name"),
            destination_url=get("destination_url"),
            weight=get("weight"),
        )


@dataclass(frozen=True)
class Webhook:
    id: str
    """ID."""
    url: str
    """https:// URL that receives the events."""
    event_types: list[EventType | str]
    """Event types that are delivered."""
    created_at: datetime
    """Time of creation."""
    updated_at: datetime
    """Time of the last change."""
    etag: ClassVar[str | None] = None
    """The version that was read, for `if_match`. None in lists, and after a creation."""

    @classmethod
    def from_json(cls, data: Any) -> Webhook:
        get = data.get
        return new(
            cls,
            id=get("id"),
            url=get("url"),
            event_types=get("event_types"),
            created_at=read_time(get("created_at")),
            updated_at=read_time(get("updated_at")),
        )


@dataclass(frozen=True)
class Event:
    """What a webhook receives. An event of a type that is unknown here has this class, and a dictionary as data."""

    id: str
    """ID of the delivery: the same in each attempt, another for each webhook."""
    api_version: str
    """Version of the format."""
    event: str
    """Event type, such as `link.created`."""
    created_at: datetime
    """Time of the event, in UTC."""
    data: Any
    """What happened."""

    @classmethod
    def from_json(cls, data: Any) -> Event:
        created_at = read_time(data["created_at"])
        return cls(data["id"], data["api_version"], data["event"], created_at, cls._read(data["data"]))

    @staticmethod
    def _read(data: Any) -> Any:
        return data


@dataclass(frozen=True)
class LinkClickedEvent(Event):
    """`link.clicked`: A person followed a link or scanned its QR code."""

    data: ClickEvent

    @staticmethod
    def _read(data: Any) -> ClickEvent:
        return ClickEvent.from_json(data)


@dataclass(frozen=True)
class LinkCreatedEvent(Event):
    """`link.created`: A link was created in the dashboard or by the API."""

    data: Link

    @staticmethod
    def _read(data: Any) -> Link:
        return Link.from_json(data)


@dataclass(frozen=True)
class PixelFiredEvent(Event):
    """`pixel.fired`: A pixel fired on the page of a link: one event for each pixel."""

    data: PixelFired

    @staticmethod
    def _read(data: Any) -> PixelFired:
        return PixelFired.from_json(data)


@dataclass(frozen=True)
class WebhookTestEvent(Event):
    """`webhook.test`: You requested a test."""

    data: TestEventData

    @staticmethod
    def _read(data: Any) -> TestEventData:
        return TestEventData.from_json(data)


EVENTS: Mapping[str, type[Event]] = {
    "link.clicked": LinkClickedEvent,
    "link.created": LinkCreatedEvent,
    "pixel.fired": PixelFiredEvent,
    "webhook.test": WebhookTestEvent,
}
"""Classes of events by type."""
