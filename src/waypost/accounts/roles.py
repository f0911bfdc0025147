"""What the members of an account may do. Pages, tests and docs/guides/team.md are made from these tables.

The roles form a sequence: each may do what those before it may.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, cast, get_args

from waypost.accounts.model import ROLES, Role

Action = Literal[
    "view",
    "links.write",
    "domains.write",
    "pixels.write",
    "webhooks.write",
    "keys.write",
    "members.write",
    "audit.view",
    "account.write",
    "plan.write",
    "owners.write",
    "security.write",
    "account.export",
    "account.delete",
]
ACTIONS: tuple[Action, ...] = get_args(Action)

_RIGHTS: Mapping[Action, tuple[Role, str]] = {
    "view": ("viewer", "View links, QR codes, statistics, domains, pixels, webhooks and members"),
    "links.write": ("editor", "Create, change and delete links, tags, QR codes, routing and aliases, and import links"),
    "domains.write": ("admin", "Add, verify, change and delete domains"),
    "pixels.write": ("admin", "Add, change and delete pixels"),
    "webhooks.write": ("admin", "Add, test and delete webhooks, and view their deliveries"),
    "keys.write": ("admin", "Create and revoke API keys"),
    "members.write": ("admin", "Invite, change and remove members up to admin"),
    "audit.view": ("admin", "View and export the audit log"),
    "account.write": ("admin", "Change the name of the account"),
    "plan.write": ("owner", "Change the plan"),
    "owners.write": ("owner", "Add, change and remove owners"),
    "security.write": ("owner", "Set the sign-in rules for all members"),
    "account.export": ("owner", "Export all data of the account"),
    "account.delete": ("owner", "Delete the account"),
}
"""The first role that allows an action, and what it is for people."""
LEAST_ROLE: Mapping[Action, Role] = {action: role for action, (role, _) in _RIGHTS.items()}
DESCRIPTIONS: Mapping[Action, str] = {action: text for action, (_, text) in _RIGHTS.items()}

Scope = Literal[
    "links:read",
    "links:write",
    "domains:read",
    "domains:write",
    "pixels:read",
    "pixels:write",
    "webhooks:manage",
]
SCOPES: tuple[Scope, ...] = get_args(Scope)

ACTION_OF_SCOPE: Mapping[Scope, Action] = {
    "links:read": "view",
    "links:write": "links.write",
    "domains:read": "view",
    "domains:write": "domains.write",
    "pixels:read": "view",
    "pixels:write": "pixels.write",
    "webhooks:manage": "webhooks.write",
}
"""What the maker of an API key must be allowed to do for the key to use a scope."""


NOT_ALLOWED_NOW = "Your role in this account no longer allows this. Reload the page."
"""Where a transaction finds that the role was changed during the request."""


def may(role: Role, action: Action) -> bool:
    return is_at_least(role, LEAST_ROLE[action])


def action_to_change(before: Role | None, after: Role | None) -> Action:
    """Return what a member must be allowed to do to give a person another role. None: not a member."""
    return "owners.write" if "owner" in (before, after) else "members.write"


def allowed_scopes(scopes: Iterable[str], maker: Role | None) -> list[str]:
    """Return the scopes that a key can use: those that the role of its maker allows. None: a command made it."""
    return [scope for scope in scopes if maker is None or may(maker, ACTION_OF_SCOPE[cast("Scope", scope)])]


def is_at_least(role: Role, least: Role) -> bool:
    return ROLES.index(role) >= ROLES.index(least)
