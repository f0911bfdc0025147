"""What the commands print: one JSON document for scripts, or a table for people."""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Column, Table

from waypost.auth import Account, ApiKey
from waypost.kit.clock import timestamp
from waypost.resources.domains.model import Domain

if TYPE_CHECKING:  # it looks at all of the application, which takes a second to load
    from waypost.commands.doctor import Finding

_COLUMNS = {
    "id",
    "email",
    "plan",
    "plan_status",
    "name",
    "scopes",
    "expires_at",
    "revoked_at",
    "hostname",
    "account",
    "status",
    "links_count",
}  # what a line has room for
_WHOLE = {"id", "email", "scopes", "hostname", "account"}  # what somebody copies
_COLOURS = {"ok": "green", "warning": "yellow", "failed": "red"}


def account(of: Account) -> dict[str, Any]:
    return {
        "id": str(of.id),
        "email": of.email,
        "name": of.name,
        "plan": of.plan.type,
        "plan_status": of.plan.status,
        "trial_ends_at": _time(of.plan.trial_ends_at),
        "created_at": timestamp(of.created_at),
    }


def new_key(of: ApiKey, text: str) -> dict[str, Any]:
    return {"id": str(of.id), "key": text, "scopes": list(of.scopes), "expires_at": _time(of.expires_at)}


def key(of: ApiKey) -> dict[str, Any]:
    return {
        "id": str(of.id),
        "name": of.name,
        "prefix": of.prefix,
        "scopes": list(of.scopes),
        "last_used_at": _time(of.last_used_at),
        "expires_at": _time(of.expires_at),
        "revoked_at": _time(of.revoked_at),
        "created_at": timestamp(of.created_at),
    }


def domain(owner: str, of: Domain) -> dict[str, Any]:
    return {
        "hostname": of.hostname,
        "account": owner,
        "status": of.status,
        "is_live": of.is_live,
        "links_count": of.links_count,
        "verified_at": _time(of.verified_at),
        "created_at": timestamp(of.created_at),
    }


def show(shown: dict[str, Any] | list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        _document(shown)
    elif isinstance(shown, dict):
        for name, value in shown.items():  # plain lines: a key must be copied whole, whatever the terminal's width
            text = " ".join(value) if isinstance(value, list) else _cell(value)
            sys.stdout.write(f"{name}: {text}\n")
    else:
        _table(shown)


def findings(of: "list[Finding]", *, as_json: bool) -> None:
    if as_json:
        _document([asdict(finding) for finding in of])
        return
    console = Console(highlight=False, soft_wrap=True)  # what a line advises can be copied, and found by grep
    for finding in of:
        console.print(f"[{_COLOURS[finding.state]}]{finding.state:8}[/] {finding.check}: ", end="")
        console.print(finding.message, markup=False)
        if finding.advice:
            console.print(f"         → {finding.advice}", markup=False)


def _document(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _table(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    names = [name for name in rows[0] if name in _COLUMNS]
    table = Table(*(Column(name, no_wrap=name in _WHOLE, overflow="fold") for name in names))
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in names))
    Console(markup=False, width=None if sys.stdout.isatty() else 200).print(table)


def _cell(value: Any) -> str:
    return "\n".join(value) if isinstance(value, list) else "" if value is None else str(value)


def _time(at: Any) -> str | None:
    return None if at is None else timestamp(at)
