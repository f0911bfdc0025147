"""The sections of the dashboard: the menu of all pages, the first part of their breadcrumbs, and their tabs."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from waypost.accounts.roles import Action


class Tab(NamedTuple):
    path: str
    name: str
    words: str = ""
    """By which Ctrl K finds it besides, in lower case."""
    action: Action | None = None
    """None: all who see the section."""


class Section(NamedTuple):
    path: str
    name: str
    icon: str
    more: tuple[str, ...] = ()
    """Beginnings of other paths that belong to it."""
    action: Action = "view"
    tabs: tuple[Tab, ...] = ()
    words: str = ""
    """By which Ctrl K finds it besides, in lower case."""


MENU: tuple[tuple[str, tuple[Section, ...]], ...] = (
    (
        "",
        (
            Section("/", "Overview", "home"),
            Section("/links", "Links", "link", ("/qrcodes",)),
            Section("/stats", "Statistics", "chart", ("/shares",), words="clicks visitors shares"),
            Section("/domains", "Domains", "globe"),
            Section("/tags", "Tags", "tag"),
        ),
    ),
    (
        "Integrations",
        (
            Section("/pixels", "Pixels", "pixel"),
            Section("/webhooks", "Webhooks", "hook"),
            Section("/integrations/api", "API", "key", words="keys"),
            Section("/links/import", "Import", "in", ("/links/imports",), "links.write"),
            Section("/integrations", "Apps", "plug", (), "links.write"),
        ),
    ),
    (
        "Account",
        (
            Section("/account/members", "Team", "team", words="members invitations roles"),
            Section(
                "/account/settings",
                "Settings",
                "gear",
                ("/plan", "/account/audit", "/account/data", "/account/sign-in-rules", "/account/delete"),
                tabs=(
                    Tab("/account/settings", "Account", "name sign-in rules"),
                    Tab("/plan", "Plan", "subscription"),
                    Tab("/account/audit", "Audit log", "history changes", "audit.view"),
                    Tab("/account/data", "Data", "export archive", "account.export"),
                ),
            ),
        ),
    ),
)
"""Groups with their headings."""
PROFILE = Section(
    "/account",
    "Profile",
    "person",
    tabs=(
        Tab("/account", "Profile", "name email time zone date number format"),
        Tab("/account/security", "Sign-in", "password two-factor authentication single sign-on"),
        Tab("/account/sessions", "Sessions", "devices browsers"),
    ),
)
OPERATOR = Section(
    "/operator",
    "Operator",
    "shield",
    tabs=(
        Tab("/operator/service", "Service", "health checks backup growth"),
        Tab("/operator", "Accounts"),
        Tab("/operator/reports", "Reports"),
        Tab("/operator/missed", "Missed addresses"),
    ),
)
_SECTIONS = [*(section for _, sections in MENU for section in sections), PROFILE, OPERATOR]
_BEGINNINGS = sorted(
    ((path, section) for section in _SECTIONS for path in (section.path, *section.more)), key=lambda pair: -len(pair[0])
)
"""The longest first."""


def section_of(path: str) -> Section | None:
    """Return the section that a page belongs to."""
    matching = (
        section for start, section in _BEGINNINGS if path == start or (start != "/" and path.startswith(f"{start}/"))
    )
    return next(matching, None)


def find_pages(may: Callable[[Action], bool], *, is_operator: bool) -> list[Mapping[str, str]]:
    """Return what Ctrl K finds: sections, and in place of those with tabs, their tabs."""
    return [
        {
            "path": tab.path,
            "name": tab.name,
            "title": section.name if tab.name != section.name else "",
            "words": tab.words,
        }
        for section in _SECTIONS
        if (is_operator if section == OPERATOR else section == PROFILE or may(section.action))
        for tab in section.tabs or (Tab(section.path, section.name, section.words),)
        if tab.action is None or may(tab.action)
    ]
