"""SQL conditions: clicks, and rows of `click_dimensions`, match filters."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Text, and_, case, func, or_

from waypost.database import Tx
from waypost.resources.clicks.days import DaySlice, in_values, within
from waypost.resources.clicks.filters import Clause
from waypost.resources.clicks.model import ClickKind, Dimension, click_dimensions, clicks
from waypost.resources.clicks.selection import ClickSelection

_AGENT = ("device", "browser", "platform")
_value = click_dimensions.c.value


def conditions(
    tx: Tx, selection: ClickSelection, kind: ClickKind | None, days: Sequence[DaySlice] = ()
) -> list[ColumnElement[bool]]:
    """Clicks of the selection and of a kind; on these days, which are whole ones if there are several."""
    found = within(days[0]) if len(days) == 1 else []
    if len(days) > 1:
        found.append(in_values(tx, clicks.c.day, [each.day for each in days]))
    if kind is not None:
        found.append(clicks.c.kind == kind)
    return [*found, *of_links(tx, selection), *(match(tx, each, clicks.c[each.name]) for each in selection.clauses)]


def of_links(tx: Tx, selection: ClickSelection) -> list[ColumnElement[bool]]:
    links, owner = selection.links, selection.subject.clicks
    if links is None:
        return [owner]
    matching = links.conditions(tx.dialect.name, clicks.c.link_id)
    return matching if links.few is not None else [owner, *matching]  # the index of links finds few of them


def match(tx: Tx, clause: Clause, column: ColumnElement[Any]) -> ColumnElement[bool]:
    parts = [_has(tx, clause, column, clause.included)] if clause.included else []
    return and_(*parts, *([~_has(tx, clause, column, clause.excluded)] if clause.excluded else []))


def match_dimension(tx: Tx, clauses: Sequence[Clause]) -> tuple[Dimension, list[ColumnElement[bool]]] | None:
    """Conditions on `click_dimensions`; None unless one dimension has the fields of all clauses."""
    names = {each.name for each in clauses}
    if names <= set(_AGENT):
        parts = dict(zip(_AGENT, _split_agent(tx), strict=True))
        return "agent", [match(tx, each, parts[each.name]) for each in clauses]
    for name in ("country", "referrer"):
        if names == {name}:
            return name, [match(tx, each, _value) for each in clauses]
    return None


def _has(tx: Tx, clause: Clause, column: ColumnElement[Any], texts: Collection[str]) -> ColumnElement[bool]:
    if clause.name == "is_scan":
        return or_(*(column.is_(text == "true") for text in texts))
    if clause.name != "referrer":
        return _is_one_of(tx, column, texts)
    hosts = [text for text in texts if text and "://" not in text]
    others = [text for text in texts if text not in hosts]
    return or_(
        *([_is_one_of(tx, column, others)] if others else []),
        *([_is_one_of(tx, _host(tx, column), hosts)] if hosts else []),
    )


def _is_one_of(tx: Tx, column: ColumnElement[Any], texts: Collection[str]) -> ColumnElement[bool]:
    return in_values(tx, column, texts) if len(texts) > 1 else column == next(iter(texts))


def _host(tx: Tx, url: ColumnElement[str]) -> ColumnElement[str]:
    """The host of a URL, with its port if it has one; of what is no URL, the text."""
    if tx.dialect.name == "postgresql":
        return case((func.strpos(url, "://") > 0, func.split_part(url, "/", 3, type_=Text)), else_=url)
    after_scheme = func.substr(url, func.instr(url, "://") + 3)
    host = func.substr(after_scheme, 1, func.instr(after_scheme + "/", "/") - 1)
    return case((func.instr(url, "://") > 0, host), else_=url)


def _split_agent(tx: Tx) -> Iterable[ColumnElement[str]]:
    """Device, browser and platform of the value."""
    if tx.dialect.name == "postgresql":
        return [func.split_part(_value, "\t", number, type_=Text) for number in (1, 2, 3)]
    first = func.instr(_value, "\t")
    rest = func.substr(_value, first + 1)
    second = func.instr(rest, "\t")
    return [func.substr(_value, 1, first - 1), func.substr(rest, 1, second - 1), func.substr(rest, second + 1)]
