"""SQL of ClickHouse for filters: conditions on clicks, and sets of links, which are stored in PostgreSQL."""
# ruff: noqa: S608  # these statements consist of constants of this package, of numbers, ids and names of parameters

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from waypost.database import Tx
from waypost.kit.errors import Invalid
from waypost.resources.clicks.days import DaySlice
from waypost.resources.clicks.filters import Clause
from waypost.resources.clicks.model import ClickKind, Subject
from waypost.resources.clicks.selection import ClickSelection

MAX_LINKS = 100_000
"""Of a set: their ids are sent to the server. Statements have at most 256 KB unless a setting allows more."""

LARGE = {"max_query_size": 32_000_000}
"""The setting of a statement with ids."""
_ID_DIGITS = 32
_HOST = "if(position(referrer, '://') > 0, splitByChar('/', referrer)[3], referrer)"


class Matching(NamedTuple):
    """Conditions on clicks, and their parameters."""

    people: str
    """People who match."""
    others: str
    """Visits that match, bots included: these have no target, so a filter by target leaves all of them."""
    parameters: Mapping[str, Any]
    settings: Mapping[str, Any]

    def of_kind(self, kind: ClickKind | None) -> str:
        """Return the conditions of a list of clicks of this kind. None: of every kind."""
        return self.people if kind is None else f"{self.people} AND kind = '{kind}'"


def id_literal(id_: UUID) -> str:
    return f"unhex('{id_.hex}')"


async def find_link_ids(tx: Tx, selection: ClickSelection) -> Sequence[UUID] | None:
    """Return the links that filters select; None without such filters. Raises Invalid if they are too many."""
    if selection.links is None:
        return None
    ids = await selection.links.find_ids(tx, MAX_LINKS + 1)
    if len(ids) > MAX_LINKS:
        name = selection.links.clauses[0].name
        raise Invalid({name: [f"This selects more than {MAX_LINKS:,} links. Choose a value of fewer links."]})
    return ids


def match(selection: ClickSelection, link_ids: Sequence[UUID] | None) -> Matching:
    """Return conditions on everything but time."""
    parameters, conditions = dict[str, Any](), _of_subject(selection.subject)
    if link_ids is not None:
        conditions.append(is_one_of("link_id", link_ids))
    by_target = [_match(each, parameters) for each in selection.clauses if each.name == "target"]
    others = conditions + [_match(each, parameters) for each in selection.clauses if each.name != "target"]
    settings = LARGE if link_ids else {}
    return Matching(" AND ".join([*others, *by_target]), " AND ".join(others), parameters, settings)


def where(subject: Subject | None, slices: Sequence[DaySlice]) -> str:
    """Return conditions: clicks of the subject, or of all accounts, in slices as of `on_days`."""
    return " AND ".join([*(_of_subject(subject) if subject else ()), on_days(slices)])


def _of_subject(subject: Subject) -> list[str]:
    of_account = f"account_id = {id_literal(subject.account_id)}"
    return [of_account, f"link_id = {id_literal(subject.link_id)}"] if subject.link_id else [of_account]


def is_one_of(column: str, ids: Sequence[UUID]) -> str:
    """Return a condition. The ids are one text, because statements may have 50,000 elements."""
    text = "".join(id_.hex for id_ in ids)
    each = f"toFixedString(unhex(substring('{text}', {_ID_DIGITS} * number + 1, {_ID_DIGITS})), 16)"
    return f"{column} IN (SELECT {each} FROM numbers({len(ids)}))"


def on_days(slices: Sequence[DaySlice]) -> str:
    """Return conditions: in the slices, of which the first and the last may be parts of days."""
    first, last = slices[0].begin, slices[-1].end
    times = f"created_at >= fromUnixTimestamp64Micro({first}) AND created_at < fromUnixTimestamp64Micro({last})"
    return f"day IN ({numbers(each.day for each in slices)}) AND {times}"


def numbers(values: Iterable[int]) -> str:
    return ", ".join(map(str, values))


def _match(clause: Clause, parameters: dict[str, Any]) -> str:
    """Adds the values to `parameters`."""
    conditions = [_has(clause, clause.included, parameters)] if clause.included else []
    if clause.excluded:
        conditions.append(f"NOT ({_has(clause, clause.excluded, parameters)})")
    return " AND ".join(conditions)


def _has(clause: Clause, texts: Collection[str], parameters: dict[str, Any]) -> str:
    if clause.name == "is_scan":
        return f"is_scan IN ({', '.join(texts)})"
    if clause.name != "referrer":
        return _is_in(clause.name, texts, parameters)
    hosts = [text for text in texts if text and "://" not in text]
    others = [text for text in texts if text not in hosts]
    found = [_is_in("referrer", others, parameters)] if others else []
    found += [_is_in(_HOST, hosts, parameters)] if hosts else []
    return f"({' OR '.join(found)})"


def _is_in(expression: str, texts: Collection[str], parameters: dict[str, Any]) -> str:
    name = f"values{len(parameters)}"
    parameters[name] = list(texts)
    return f"{expression} IN {{{name}:Array(String)}}"
