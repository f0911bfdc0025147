"""Output of the commands: one JSON document for scripts or a table for people, and progress bars."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from waypost.accounts import Account, ApiKey, Person
from waypost.accounts.model import Member
from waypost.audit.model import AuditEntry
from waypost.kit.clock import timestamp
from waypost.resources.domains.model import Domain

if TYPE_CHECKING:  # importing it takes a second
    from waypost.installation import Finding

_COLUMNS = {
    "time",
    "action",
    "item",
    "by",
    "id",
    "email",
    "plan",
    "plan_status",
    "name",
    "role",
    "scopes",
    "expires_at",
    "revoked_at",
    "hostname",
    "account",
    "status",
    "links_count",
    "day",
    "postgresql",
    "clickhouse",
}  # fits into one line
_NO_WRAP = {"id", "email", "scopes", "hostname", "account"}  # users copy these
_COLORS = {"ok": "green", "warning": "yellow", "failed": "red"}


def audit_row(entry: AuditEntry) -> dict[str, Any]:
    """For the table; JSON has all fields."""
    by = f"{entry.actor.label} ({entry.actor.ip})" if entry.actor.ip else entry.actor.label
    return {"time": f"{entry.at:%Y-%m-%d %H:%M:%S}", "action": entry.action, "item": entry.item.name, "by": by}


def account_json(account: Account) -> dict[str, Any]:
    return {
        "id": str(account.id),
        "email": account.email,
        "name": account.name,
        "plan": account.plan.type,
        "plan_status": account.plan.status,
        "trial_ends_at": _time(account.plan.trial_ends_at),
        "suspended_at": _time(account.suspended_at),
        "suspended_reason": account.suspended_reason,
        "created_at": timestamp(account.created_at),
    }


def operator_json(person: Person) -> dict[str, Any]:
    return {"email": person.email, "name": person.name, "is_operator": person.is_operator}


def new_key_json(key: ApiKey, text: str) -> dict[str, Any]:
    return {"id": str(key.id), "key": text, "scopes": list(key.scopes), "expires_at": _time(key.expires_at)}


def member_json(member: Member) -> dict[str, Any]:
    return {
        "id": str(member.person.id),
        "email": member.person.email,
        "name": member.person.name,
        "role": member.role,
        "joined_at": timestamp(member.joined_at),
    }


def domain_json(owner: str, domain: Domain) -> dict[str, Any]:
    return {
        "hostname": domain.hostname,
        "account": owner,
        "status": domain.status,
        "is_live": domain.is_served,
        "links_count": domain.links_count,
        "verified_at": _time(domain.verified_at),
        "created_at": timestamp(domain.created_at),
    }


def write(value: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    if as_json:
        _document(value)
    elif isinstance(value, Mapping):
        for name, field in value.items():  # plain lines: a key must not be wrapped
            text = " ".join(field) if isinstance(field, list) else _cell(field)
            sys.stdout.write(f"{name}: {text}\n")
    else:
        _table(value)


def write_findings(findings: "list[Finding]", *, as_json: bool) -> None:
    if as_json:
        _document([asdict(finding) for finding in findings])
        return
    console = Console(highlight=False, soft_wrap=True)  # one line per finding, for copying and grep
    for finding in findings:
        console.print(f"[{_COLORS[finding.state]}]{finding.state:8}[/] {finding.check}: ", end="")
        console.print(finding.message, markup=False)
        if finding.advice:
            console.print(f"         → {finding.advice}", markup=False)


def _document(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _table(rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    names = [name for name in rows[0] if name in _COLUMNS]
    table = Table(*(Column(name, no_wrap=name in _NO_WRAP, overflow="fold") for name in names))
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in names))
    Console(markup=False, width=None if sys.stdout.isatty() else 200).print(table)


def _cell(value: Any) -> str:
    return "\n".join(value) if isinstance(value, list) else "" if value is None else str(value)


def _time(at: Any) -> str | None:
    return None if at is None else timestamp(at)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0:,.0f}/s")


ReportProgress = Callable[[int, int], None]
"""Takes the number done and the total."""


@contextlib.contextmanager
def progress(label: str) -> Iterator[ReportProgress | None]:
    """Show a progress bar on stderr. None unless stderr is a terminal, so that nothing is counted needlessly."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
