"""An entry as JSON and as a line of CSV, and the form with filters of the list."""

import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from typing_extensions import TypedDict

from waypost.audit.actions import AUDIT_ACTIONS
from waypost.audit.model import ACTOR_TYPES, AuditEntry
from waypost.audit.store import AuditFilter
from waypost.kit.clock import timestamp
from waypost.kit.errors import Problems
from waypost.kit.fields import IdText, TimestampText, text_problem
from waypost.kit.ids import parse_id
from waypost.kit.json_object import json_object
from waypost.kit.preferences import NO_DATE, Preferences

FILTERS = ("by", "action", "item", "text", "since", "until")
CSV_COLUMNS = ("time", "actor_type", "actor_id", "actor", "ip", "action", "item_id", "item", "changes", "details")
MAX_TEXT = 200
_FIRST_DAY, _LAST_DAY = date(1970, 1, 1), date.max - timedelta(days=2)


class EntryJson(TypedDict):
    id: IdText
    created_at: TimestampText
    actor: dict[str, Any]
    """`type`, `id` of the person or API key, `name` and `ip`."""
    action: str
    item: dict[str, Any]
    """`id` and `name`."""
    changes: Mapping[str, Any]
    """By field: before and after, or null for a value that the log does not contain."""
    details: Mapping[str, Any]


def to_json(entry: AuditEntry) -> EntryJson:
    item = {"id": _text(entry.item.id), "name": entry.item.name}
    return json_object(EntryJson, entry, created_at=entry.at, actor=entry.actor.to_json(), item=item)


def to_cells(entry: AuditEntry) -> Iterable[Any]:
    """Return a line of the CSV file."""
    actor, item = entry.actor, entry.item
    encoded = (json.dumps(value, ensure_ascii=False) if value else "" for value in (entry.changes, entry.details))
    who = actor.type, _text(actor.id), actor.name, actor.ip
    return timestamp(entry.at), *who, entry.action, _text(item.id), item.name, *encoded


def read_filter(query: Mapping[str, str], problems: Problems, preferences: Preferences) -> AuditFilter:
    """Read the filters of a list, and add problems with them to `problems`. Unknown choices are ignored.

    Days are those of the person.
    """
    by, action, text = (query.get(name, "").strip() for name in ("by", "action", "text"))
    if problem := text_problem(text):
        problems.add("text", problem)
    elif len(text) > MAX_TEXT:
        problems.add("text", f"This must have at most {MAX_TEXT} characters.")
    return AuditFilter(
        actor_id=parse_id(by),
        actor_type=by if by in ACTOR_TYPES else None,
        action=action if action in AUDIT_ACTIONS else None,
        item_id=parse_id(query.get("item", "")),
        text=text or None,
        since=_read_day(query, "since", problems, preferences),
        until=_read_day(query, "until", problems, preferences, days=1),
    )


def used_filters(filter_: AuditFilter, query: Mapping[str, str]) -> dict[str, str]:
    """Return what of `query` became `filter_`: an entry of the log does not store what was ignored."""
    values = {
        "by": filter_.actor_id or filter_.actor_type,
        "action": filter_.action,
        "item": filter_.item_id,
        "text": filter_.text,
        "since": filter_.since,
        "until": filter_.until,
    }
    return {name: query[name] for name, value in values.items() if value is not None}


def _read_day(
    query: Mapping[str, str], name: str, problems: Problems, preferences: Preferences, *, days: int = 0
) -> datetime | None:
    """Return the start of the day, or of one `days` later."""
    text = query.get(name, "").strip()
    if not text:
        return None
    try:
        day = min(date.fromisoformat(text), _LAST_DAY)
    except ValueError:
        problems.add(name, NO_DATE)
        return None
    return preferences.midnight(max(day, _FIRST_DAY) + timedelta(days=days))


def _text(id_: UUID | None) -> str | None:
    return None if id_ is None else str(id_)
