"""What a source of an import hands over: pages of links, and of clicks where it has rows.

A source only reads and translates. It decides nothing about this installation: which domain, slug or alias a link gets
is decided in one place for all sources.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from waypost.kit.errors import WaypostError

if TYPE_CHECKING:
    from waypost.resources.imports.archive.links import ArchivedLink


class SourceError(WaypostError):
    """The source cannot be read. The message says why and what to do; what is imported already stays."""


class WrongToken(SourceError):
    """The source refuses the token, or the token belongs to another workspace."""


class QuotaUsedUp(SourceError):
    """The source answers no more for hours or weeks. The import stops and keeps its cursor."""


class UnexpectedAnswer(SourceError):
    """The source sent something else than its documentation says: HTML, truncated JSON, a missing field."""


class NotThere(UnexpectedAnswer):
    """The source does not know what was asked for (404), such as an endpoint of a newer version."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What the operator entered, not validated."""

    url: str | None = None
    """Origin instead of the vendor's, such as `https://links.example.com`."""
    token: str | None = None
    file: Path | None = None
    timezone: tzinfo | None = None
    """Of times without a zone. None: UTC, with a warning."""
    site: str | None = None
    """Hostname of a file's own site, where its rows have none."""
    encoding: str | None = None
    """Of a file of text. None: the file shows it."""
    columns: Sequence[str] | None = None
    """The fields of the columns of a table, see `tables.columns`. None: their names decide."""

    def required_token(self) -> str:
        """Raises SourceError."""
        token = (self.token or "").strip()
        if not token:
            raise SourceError("This source needs a token: its API key. Enter it, or name its file with --token-file.")
        return token

    def required_url(self) -> str:
        """Raises SourceError."""
        if not self.url:
            raise SourceError("This source is self-hosted. Enter its URL, or pass it as --url https://HOST.")
        return self.url


@dataclass(frozen=True, slots=True)
class Address:
    hostname: str | None
    """None: the source does not say. `--domain` cannot map it, and the link goes to the shared domain."""
    path: str
    """Percent-decoded, without the leading slash. May be anything: emoji, slashes, 2,000 characters.

    Empty for the root of the domain, whatever the source calls it: such a link is left out with a warning.
    """


@dataclass(frozen=True, slots=True)
class SourceLink:
    """One link as the source describes it, not validated. Names and limits are checked when it is stored."""

    source_id: str
    """Identifies the link among all links that come from sources of this name, and does not change when the link does.

    A source that people host themselves, with short codes as ids, puts its hostname in front: `s.example/abc`.
    """
    address: Address | None
    """None: the source names no short link, as in a list of destinations. The link gets a generated slug."""
    destination_url: str
    title: str | None = None
    tags: Sequence[str] = ()
    created_at: datetime | None = None
    """With a time zone."""
    is_enabled: bool = True
    expires_at: datetime | None = None
    """With a time zone; may be past."""
    other_addresses: Sequence[Address] = ()
    """More addresses of the same link, such as further back-halves of Bitly. They become aliases."""
    clicks: int | None = None
    """The source's total. Kept apart as `imported_clicks` where the source has no rows."""
    has_unreadable_password: bool = False
    """Visitors need a password, and the source does not say which: the link is imported disabled."""
    routing: Mapping[str, Any] | None = field(default=None, repr=False)
    """Rules, variants, password, start, limit and fallback, in the form of the body of PUT /v1/links/{id}/routing.

    Not validated, see `fitting.fit`. `click_limit`: how many clicks the source allows in all.
    """
    forwards_query: bool = False
    """Whether visitors' parameters are added to the destination."""
    note: str | None = None
    """None: the source has no notes, so that those given here stay."""
    external_id: str | None = None
    """Of the link in a third system. None: as for the note."""
    lost_rules: Sequence[str] = ()
    """Rules that cannot be expressed here, in a few words each: the link is imported disabled."""
    bot_clicks: int = 0
    """Those of `clicks` that count there, but not here when they are imported with their times."""
    archived: "ArchivedLink | None" = None
    """All fields of a link of Waypost. It keeps its id, and is replaced as a whole if any of them changes."""
    left_out: Sequence[str] = ()
    """What of this link does not come along, in a few words each, such as `retargeting pixels`."""
    place: str = ""
    """Where it is in a file, such as `Line 12`."""


@dataclass(frozen=True, slots=True)
class RefusedRow:
    source_id: str
    reason: str
    """A sentence for people."""


@dataclass(frozen=True, slots=True)
class LinkPage:
    links: Sequence[SourceLink]
    next_cursor: str | None
    """Where to continue, also after a restart. None: this was the last page."""
    refused: Sequence[RefusedRow] = ()
    """Rows that cannot be read as a link at all."""
    warnings: Sequence[str] = ()
    """Said once each, such as columns that are not known."""
    total: int | None = None
    """How many links the source says it has, for the progress bar."""
    is_of_file: bool = False
    """Pages do not shift: a link that is there twice is refused."""


@dataclass(frozen=True, slots=True)
class SourceClick:
    link_source_id: str
    at: datetime
    """With a time zone."""
    source_id: str | None = None
    """Identifies the click within the source. None: equal clicks of a link are distinguished by their number.

    Then pages must not shift while they are read: ask for the clicks before the start of the import.
    """
    referrer: str | None = None
    user_agent: str | None = None
    browser: str | None = None
    platform: str | None = None
    device: str | None = None
    """In the source's words, where it has no user agent."""
    country: str | None = None
    """ISO 3166-1 alpha-2."""
    ip: str | None = None
    is_bot: bool = False
    is_qr_scan: bool = False


@dataclass(frozen=True, slots=True)
class ClickPage:
    clicks: Sequence[SourceClick]
    next_cursor: str | None
    unreadable: int = 0
    """Clicks without a readable time or link."""
    warnings: Sequence[str] = ()


class Source(Protocol):
    """Reads one account, workspace or file of another service."""

    name: ClassVar[str]
    """As in the command, such as `short-io`."""
    ignores_case: ClassVar[bool]
    """The service answers `/Sale` and `/sale` alike."""

    async def check(self) -> None:
        """Send the smallest request that needs the token. Raises SourceError before anything is written."""

    async def link_page(self, cursor: str | None) -> LinkPage:
        """Return the page at the cursor, the first one for None. Raises SourceError."""


class HasClicksOfLinks(Protocol):
    """A source that lists the clicks of one link at a time."""

    async def clicks_of_link(self, source_id: str, cursor: str | None) -> ClickPage:
        """Return one page of the link's clicks, in the source's order. Raises SourceError."""


class HasClicks(Protocol):
    """A source that lists the clicks of all links together."""

    async def click_page(self, cursor: str | None) -> ClickPage:
        """Return one page of clicks, in the source's order. Raises SourceError."""
