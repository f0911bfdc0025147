"""What the dashboard says about each source, and what it asks for."""

from dataclasses import dataclass
from typing import Literal

from waypost.accounts.roles import Action

Input = Literal["token", "file", "either"]


@dataclass(frozen=True, slots=True)
class SourceChoice:
    name: str
    """As in the command."""
    title: str
    summary: str
    """One sentence: what comes along."""
    input: Input
    token_label: str = "API token"  # noqa: S105  # a label
    token_hint: str = ""
    """Where to find it."""
    file_hint: str = ""
    accepts: str = ""
    """Of the file: extensions."""
    url_hint: str = ""
    """Empty: the service cannot be self-hosted."""
    needs_url: bool = False
    has_clicks: bool = False
    """The source lists single clicks."""
    needs_timezone: bool = False
    """Its times have no time zone."""
    asks_often: bool = False
    """The source allows few requests a month, so that its links should not be read twice."""
    action: Action = "links.write"
    """What members must be allowed to do."""


CHOICES = (
    SourceChoice(
        "waypost",
        "Waypost",
        "Everything of an account elsewhere: links with images, QR code styles, aliases, clicks and statistics.",
        "file",
        file_hint="The ZIP file from Settings → Data → Export data of the other Waypost, or from waypost export all.",
        accepts=".zip,application/zip",
        action="domains.write",  # it registers the domains of the archive
    ),
    SourceChoice(
        "bitly",
        "Bitly",
        "Links of all groups with titles, tags and custom back-halves, without clicks.",
        "token",
        "Access token",
        "In Bitly: Settings → API → Generate token. It needs your Bitly password.",
        asks_often=True,
    ),
    SourceChoice(
        "rebrandly",
        "Rebrandly",
        "Links with titles, tags and total clicks.",
        "token",
        "API key",
        "In Rebrandly: Account → API → New API key. To import one workspace only, add a space and its id.",
    ),
    SourceChoice(
        "short-io",
        "Short.io",
        "Links of all your domains with tags, expiry, rules, variants and passwords, without clicks.",
        "token",
        "Secret API key",
        "In Short.io: Integrations & API → Create API key. Choose a secret key.",
    ),
    SourceChoice(
        "dub",
        "Dub",
        "Links with tags, expiry, rules, variants and passwords, and single clicks on plans that list them.",
        "token",
        "API key",
        "In Dub: Workspace settings → API keys → Create. Read access to links and analytics is enough.",
        url_hint="Only for a self-hosted Dub: the origin of its API.",
        has_clicks=True,
    ),
    SourceChoice(
        "shlink",
        "Shlink",
        "Links with tags, dates, limits and redirect rules, and all visits.",
        "token",
        "API key",
        "On your Shlink server: shlink api-key:generate.",
        url_hint="The origin of your Shlink server, such as https://s.example.com.",
        needs_url=True,
        has_clicks=True,
    ),
    SourceChoice(
        "yourls",
        "YOURLS",
        "Links and total clicks over its API, or all clicks from a dump of its database.",
        "either",
        "Signature token",
        "In the admin pages of YOURLS: Tools → Secure passwordless API call.",
        "An SQL dump of the tables yourls_url and yourls_log, made with mysqldump.",
        ".sql",
        "The origin of your YOURLS site, such as https://yourls.example.com.",
        needs_url=True,
        has_clicks=True,
        needs_timezone=True,
    ),
    SourceChoice(
        "kutt",
        "Kutt",
        "Links with descriptions, expiry and total clicks.",
        "token",
        "API key",
        "In Kutt: Settings → API → Generate key.",
        url_hint="The origin of the Kutt server that you use, such as https://kutt.example.com.",
        needs_url=True,
    ),
    SourceChoice(
        "spoo-me",
        "spoo.me",
        "Links with tags, limits, rules, variants and total clicks.",
        "token",
        "API key",
        "In spoo.me: Dashboard → API keys → Create.",
        url_hint="Only for a self-hosted spoo.me: its origin.",
    ),
    SourceChoice(
        "csv",
        "CSV file",
        "A table of any service or spreadsheet with destinations, and optionally slugs, titles, tags and dates.",
        "file",
        file_hint="A file with a header row, separated by commas, semicolons or tabs.",
        accepts=".csv,.tsv,.txt,text/csv",
        needs_timezone=True,
    ),
)
BY_NAME = {choice.name: choice for choice in CHOICES}
_OF_VENDORS = frozenset(  # of all users
    ("bit.ly", "bitly.com", "j.mp", "rebrand.ly", "short.gy", "dub.sh", "dub.link", "kutt.it", "kutt.to", "spoo.me")
)


def is_of_vendor(hostname: str) -> bool:
    """Whether all users of a service share the hostname, so that nobody can move it."""
    return hostname in _OF_VENDORS
