"""The sections of the dashboard: the menu of all pages, and the first part of their breadcrumbs."""

from typing import NamedTuple

from waypost.accounts.roles import Action


class Section(NamedTuple):
    path: str
    name: str
    icon: str
    more: tuple[str, ...] = ()
    """Beginnings of other paths that belong to it."""
    action: Action = "view"


MENU: tuple[tuple[str, tuple[Section, ...]], ...] = (
    (
        "",
        (
            Section("/", "Overview", "home"),
            Section("/links", "Links", "link", ("/qrcodes",)),
            Section("/stats", "Statistics", "chart", ("/shares",)),
            Section("/domains", "Domains", "globe"),
            Section("/tags", "Tags", "tag"),
        ),
    ),
    (
        "Integrations",
        (
            Section("/pixels", "Pixels", "pixel"),
            Section("/webhooks", "Webhooks", "hook"),
            Section("/integrations/api", "API", "key"),
            Section("/links/import", "Import", "in", ("/links/imports",), "links.write"),
            Section("/integrations", "Apps", "plug", (), "links.write"),
        ),
    ),
    (
        "Account",
        (
            Section("/account/members", "Team", "team"),
            Section(
                "/account/settings",
                "Settings",
                "gear",
                ("/plan", "/account/audit", "/account/data", "/account/sign-in-rules", "/account/delete"),
            ),
        ),
    ),
)
"""Groups with their headings."""
PROFILE = Section("/account", "Profile", "person")
OPERATOR = Section("/operator", "Operator", "shield")
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
