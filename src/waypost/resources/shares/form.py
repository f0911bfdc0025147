"""Fills the form of a share, and reads it into the fields of an API request."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from starlette.datastructures import QueryParams

from waypost.kit.errors import Problems
from waypost.kit.ids import parse_id
from waypost.kit.preferences import Preferences
from waypost.resources.clicks.dashboard import time_range
from waypost.resources.clicks.dashboard.page_state import LABELS
from waypost.resources.clicks.dashboard.value_lists import name_value
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, Filters
from waypost.resources.shares.model import Share
from waypost.web.dashboard import Form

_TEXTS = ("name", "link_id", "tag", "hostname", "password")
_TIMES = ("from", "to", "expires_at")


class FilterChoice(NamedTuple):
    """A value of a filter, as the form sends and shows it."""

    sent: str
    text: str


def fill_from_state(state: QueryParams, preferences: Preferences, now: datetime) -> Form:
    """Fill the form with what a statistics page shows. Custom dates become the time range that can be seen."""
    filters = Filters.read(state.multi_items(), ACCOUNT_FILTERS, Problems())
    fields: dict[str, Any] = {"link_id": state.get("link", ""), "hide_below": "0"}
    if state.get("period") == "custom":
        choice = time_range.choose(state, preferences, since=now, now=now)
        start, end = choice.query.range
        fields |= {"from": preferences.field(start)} | ({} if choice.is_until_now else {"to": preferences.field(end)})
    return Form({**fields, "filters": _sent(filters)})


def fill_from_share(share: Share, preferences: Preferences) -> Form:
    filters = Filters.from_json(dict(share.filters), ACCOUNT_FILTERS, Problems())
    return Form(
        {
            "name": share.name,
            "link_id": str(share.link_id or ""),
            "tag": "" if share.has_lost_tag else share.tag or "",
            "hostname": share.hostname or "",
            "hide_below": str(share.hide_below),
            "embed_origins": "\n".join(share.embed_origins),
            "filters": _sent(filters),
            "remove_password": False,
            **{name: preferences.field(at) for name, at in _times(share).items()},
        }
    )


def read_fields(form: Form, preferences: Preferences, share: Share | None = None) -> dict[str, Any]:
    """Return the fields of a request. Blank ones are null; a number that is none is sent as it is, and refused.

    `share`: that the form showed.
    """
    fields: dict[str, Any] = {name: form.text(name).strip() or None for name in _TEXTS}
    number = form.text("hide_below").strip()
    shown = _times(share)
    filters: dict[str, list[str]] = {}
    for each in form.texts("filters"):
        name, _, value = each.partition("=")
        filters.setdefault(name, []).append(value)
    return {
        **fields,
        **{name: preferences.read_field(form.text(name), at) for name, at in shown.items()},
        "hide_below": int(number) if number.isascii() and number.isdigit() and len(number) < 5 else number or None,
        "embed_origins": form.text("embed_origins").split(),
        "filters": filters,
    }


def read_change(form: Form, share: Share, preferences: Preferences) -> dict[str, Any]:
    """Return the fields that differ from the share: an expiry in the past may stay, and so does the password."""
    stored = fill_from_share(share, preferences)
    sent, before = (read_fields(each, preferences, share) for each in (form, stored))
    changed = {name: value for name, value in sent.items() if value != before[name]}
    return changed | ({"password": None} if form.is_checked("remove_password") else {})


def choices_of(form: Form, links: Mapping[str, str]) -> list[FilterChoice]:
    """Return the filters that the form can keep. `links`: short URLs by id."""
    choices = []
    for each in form.texts("filters"):
        name, _, value = each.partition("=")
        problems = Problems()
        for clause in Filters.read([(name, value)], ACCOUNT_FILTERS, problems).clauses:
            for text, is_excluded in clause.values:
                shown = links.get(text, text) if clause.name == "link_id" else name_value(clause.name, text).name
                label = f"{LABELS[clause.name]} {'is not' if is_excluded else 'is'} {shown}"
                choices.append(FilterChoice(each, label))
    return choices


def linked(form: Form) -> list[UUID]:
    """Return the ids of the links that the form names: that of the share, and those of filters."""
    named = [each.removeprefix("link_id=") for each in form.texts("filters") if each.startswith("link_id=")]
    values = (form.text("link_id"), *(each.removeprefix("-") for each in named))
    return [id_ for value in values if (id_ := parse_id(value))]


def _sent(filters: Filters) -> list[str]:
    return [f"{name}={value}" for name, value in filters.to_query()]


def _times(share: Share | None) -> dict[str, datetime | None]:
    times = (share.range_start, share.range_end, share.expires_at) if share else (None,) * len(_TIMES)
    return dict(zip(_TIMES, times, strict=True))
