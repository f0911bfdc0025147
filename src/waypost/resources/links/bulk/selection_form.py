"""The links that are selected in the list, as fields of the forms that follow it."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from waypost.kit.errors import Problems
from waypost.kit.ids import parse_id
from waypost.resources.links.bulk.change_store import Selection
from waypost.resources.links.bulk.schemas import MAX_ROWS
from waypost.resources.links.lists.query import FILTERS, LinkFilter, read_filter
from waypost.web.dashboard import Form

_NOTHING_SELECTED = "Select at least one link."
_OWN = {"action", "change_id"}
"""Fields that do not follow a change to its next page."""


def read_selection(form: Form, shared_domain: str, problems: Problems) -> Selection | None:
    texts = {name: form.text(name) for name in FILTERS if form.text(name)}
    if form.is_checked("all"):
        filter_ = read_filter(texts, shared_domain, problems)
        return None if problems else Selection(None, filter_)
    ids = list(dict.fromkeys(id_ for id_ in map(parse_id, form.texts("ids")) if id_))[:MAX_ROWS]
    if not ids:
        problems.add("body", _NOTHING_SELECTED)
        return None
    return Selection(ids, LinkFilter())


def selection_fields(form: Form) -> list[tuple[str, str]]:
    """Return those that select links, as hidden fields."""
    return list(_pairs({n: v for n, v in form.fields.items() if n in {*FILTERS, "sort", "all", "ids"}}))


def all_fields(form: Form) -> list[tuple[str, str]]:
    """Return the form as hidden fields."""
    return list(_pairs({n: v for n, v in form.fields.items() if n not in _OWN}))


def list_query(form: Form) -> str:
    """Return the parameters of the list that the links were selected in."""
    return urlencode([(name, form.text(name)) for name in (*FILTERS, "sort") if form.text(name)])


def _pairs(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, list):
            yield from ((f"{name}[]", text) for text in value if isinstance(text, str))
        elif isinstance(value, Mapping):
            yield from ((f"{name}[{key}]", text) for key, text in value.items() if isinstance(text, str))
