"""Fills the form of a routing, reads it into the fields of an API request, and adds, removes and moves its entries.

A field is named like its errors, such as `rules.0.conditions.1.values`. Lists are mappings of indexes in a Form.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from string import ascii_uppercase
from typing import Any, NamedTuple, get_args

from waypost.kit.clock import parse_timestamp
from waypost.kit.errors import Errors
from waypost.kit.fields import REQUIRED
from waypost.kit.preferences import DEFAULT, Preferences
from waypost.resources.links.form import fields as forms
from waypost.resources.links.routing.change import RoutedLink
from waypost.resources.links.routing.conditions import MAX_VALUES, NO_COUNTRY, NO_LANGUAGE
from waypost.resources.links.routing.model import ConditionType
from waypost.resources.links.routing.schemas import MAX_CONDITIONS, MAX_RULES, MAX_VARIANTS
from waypost.visitors.choices import ChoiceKind, choices, complete, find_value, value_name
from waypost.web.dashboard import Form

DAYS = {"1": "Mon", "2": "Tue", "3": "Wed", "4": "Thu", "5": "Fri", "6": "Sat", "7": "Sun"}
MAX_FIELDS = 6_000
"""Of a form with all rules, conditions and values."""
_MAX_PICKED = 40
"""Values of one condition that have fields of their own."""
_MAX_DEPTH = 6
_INDEX = re.compile(r"[0-9]{1,3}", re.ASCII)
_LINES = re.compile(r"[\r\n]+")
_ENTERED = re.compile(r"[,;\r\n]+")
_EDIT = re.compile(
    r"(add|remove|move):(rules|variants|rules\.([0-9]{1,3})\.conditions)(?:\.([0-9]{1,3}))?(?:\.([0-9]{1,3}))?",
    re.ASCII,
)
_VALUES_ERROR = re.compile(r"rules\.([0-9]+)\.conditions\.([0-9]+)\.values(?:\.([0-9]+))?", re.ASCII)
_LIMITS = {"rules": MAX_RULES, "variants": MAX_VARIANTS, "conditions": MAX_CONDITIONS}
_FIRST_TYPE: ConditionType = "platform"
_PICKED: Mapping[str, ChoiceKind] = {kind: kind for kind in get_args(ChoiceKind)}
"""Types of conditions whose values have names: they are entered in `new`, and are entries of `values` then.

Unknown ones stay in `new`, and so do more than _MAX_PICKED.
"""
_LETTERS = ascii_uppercase[1:]
"""Names of variants without one. A is the link's own destination."""
_MAX_NAME = 100
"""Characters of a name that a rule gets by its conditions."""

Entry = dict[str, Any]
_ReadTime = Callable[[str], str | None]


class Edited(NamedTuple):
    form: Form
    focus: str
    """Where the user continues: the name of a field, or an edit. Empty if nothing was edited."""


def fill(routed: RoutedLink, preferences: Preferences) -> Form:
    """Fill the form with what is stored."""
    routing = routed.routing
    fields: Entry = {
        "rules": _mapping([_fill_rule(rule, preferences) for rule in routing.rules] if routing else []),
        "variants": _mapping(
            [{**variant, "weight": str(variant["weight"])} for variant in routing.variants] if routing else []
        ),
    }
    return Form(fields)


def read(form: Form) -> Form:
    """Nest the fields of a sent form, and number entries from 0. Of too many entries, one more than allowed is kept."""
    fields: Entry = {}
    for name, text in {**form.fields, **_completed(form)}.items():
        *outer, last = name.split(".")
        if not isinstance(text, str) or len(outer) >= _MAX_DEPTH:
            continue
        place = fields
        for part in outer:
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            if not isinstance(place.get(last), dict):
                place[last] = text
    rules = _entries(fields.get("rules"))[: MAX_RULES + 1]
    for rule in rules:
        conditions = [each for each in _entries(rule.get("conditions")) if each.get("type") in get_args(ConditionType)]
        del conditions[MAX_CONDITIONS + 1 :]
        for condition in conditions:
            if kind := _PICKED.get(condition["type"]):
                condition.update(_show_picked(kind, _picked(condition, kind)))
        rule["conditions"] = _mapping(conditions)
    variants = _entries(fields.get("variants"))[: MAX_VARIANTS + 1]
    return Form({**fields, "rules": _mapping(rules), "variants": _mapping(variants)})


def _completed(form: Form) -> Entry:
    """Return the field whose entries are picked, each in full: the start of a name is enough."""
    name = form.text("edit").removeprefix("pick:")
    kind = _PICKED.get(str(form.fields.get(name.removesuffix("new") + "type")))
    text = form.fields.get(name) if kind and name.endswith(".new") else None
    if kind is None or not isinstance(text, str):
        return {}
    return {name: ", ".join(complete(kind, each) for each in _ENTERED.split(text) if each.strip())}


def in_words(fields: Mapping[str, Any]) -> Entry:
    """Return the fields with the values and days of conditions as people call them, each in one text."""
    return {
        name: _mapping([{**each, "conditions": _conditions_in_words(each)} for each in _entries(entries)])
        for name, entries in fields.items()
    }


def _conditions_in_words(rule: Entry) -> dict[str, Entry]:
    found = [{**each} for each in _entries(rule.get("conditions"))]
    for each in found:
        if isinstance(values := each.get("values"), dict):
            names = [value_name(each["type"], value) for value in values.values()]
            each |= {"values": ", ".join([*names, *([new] if (new := _text(each, "new")) else [])]), "new": None}
        if isinstance(days := each.get("weekdays"), dict):
            each |= {"weekdays": ", ".join(DAYS.get(day, str(day)) for day in days.values())}
    return _mapping(found)


def _picked(condition: Entry, kind: ChoiceKind) -> list[str]:
    """Return the values that were chosen before, and those that are entered. One too many says that there are more."""
    values, entered = condition.get("values"), _ENTERED.split(_text(condition, "new") or "")
    chosen = values.values() if isinstance(values, dict) else ()
    found = dict.fromkeys(find_value(kind, text) for text in (*chosen, *entered) if text.strip())
    return list(islice(found, MAX_VALUES + 1))


def _show_picked(kind: ChoiceKind, values: Sequence[str]) -> Entry:
    known = {each.value for each in choices(kind)}.union(values if kind in {"platform", "browser"} else ())
    shown = [value for value in values if value in known] if len(values) <= _MAX_PICKED else []
    rest = ", ".join(value_name(kind, value) for value in values if value not in shown)
    return {"values": {str(index): value for index, value in enumerate(shown)}, "new": rest}


def request_of(form: Form, routed: RoutedLink, preferences: Preferences) -> dict[str, Any]:
    """Return the fields of an API request."""
    times = {preferences.field(at): at for at in _stored_times(routed)}

    def read_time(text: str) -> str | None:
        return preferences.read_field(text, times.get(text))

    return {
        "rules": [_rule(rule, read_time) for rule in _entries(form.fields["rules"])],
        "variants": [_variant(*each) for each in zip(_LETTERS, _entries(form.fields["variants"]), strict=False)],
    }


def explain_values(errors: Errors, request: Mapping[str, Any]) -> None:
    """Name unknown values in their errors. A rule that lacks values, which name it, does not lack a name."""
    for field in [*errors]:
        if not (found := _VALUES_ERROR.fullmatch(field)):
            continue
        rule, number, index = found.groups()
        condition = request["rules"][int(rule)]["conditions"][int(number)]
        if errors[field] in ([NO_COUNTRY], [NO_LANGUAGE]):
            errors[field] = [f"There is no {condition['type']} \u201c{condition['values'][int(index)]}\u201d."]
        if errors.get(name := f"rules.{rule}.name") == [REQUIRED]:
            del errors[name]


def edit(form: Form, change: str, preferences: Preferences) -> Edited:
    """Add, remove or move an entry, or add those of a template. `change`: such as `add:rules.0.conditions`,
    `remove:rules.0`, `move:rules.1.0`, `template:stores`; `pick:` with the name of a field changes nothing else.
    """
    action, _, rest = change.partition(":")
    if action == "pick":
        return Edited(form, rest)
    if template := _TEMPLATES.get(rest) if action == "template" else None:
        return _add_template(form, *template)
    match = _EDIT.fullmatch(change)
    if match is None:
        return Edited(form, "")
    action, path = match[1], match[2]
    owner: Any = form.fields["rules"].get(str(int(match[3]))) if match[3] else form.fields
    if owner is None:
        return Edited(form, "")
    name = path.rpartition(".")[2]
    entries, focus = _entries(owner[name]), f"add:{path}"
    index, to = (int(text) if text else len(entries) for text in match.group(4, 5))
    if action == "add" and len(entries) < _LIMITS[name]:
        type_ = form.text("new_rule" if name == "rules" else f"new.{path}")
        entries.append(_new_entry(name, type_, preferences))
        focus = _first_field(path, len(entries) - 1, entries[-1])
    elif action == "remove" and index < len(entries):
        del entries[index]
    elif action == "move" and max(index, to) < len(entries):
        entries.insert(to, entries.pop(index))
        step = 1 if to > index else -1
        focus = f"move:{path}.{to}.{to + step if 0 <= to + step < len(entries) else to - step}"
    owner[name] = _mapping(entries)
    return Edited(form, focus)


def _new_entry(name: str, type_: str, preferences: Preferences) -> Entry:
    if name == "variants":
        return {}
    condition = {"type": type_ if type_ in get_args(ConditionType) else _FIRST_TYPE, "operator": "in"}
    if type_ == "schedule":
        condition["timezone"] = preferences.timezone
    return condition if name == "conditions" else {"conditions": _mapping([condition])}


def _add_template(form: Form, name: str, new: Sequence[Entry], focus: str) -> Edited:
    fields: Any = form.fields
    entries = _entries(fields[name])
    added = new[: _LIMITS[name] - len(entries)]
    fields[name] = _mapping([*entries, *added])
    return Edited(form, f"{name}.{len(entries)}.{focus}" if added else "")


def _first_field(path: str, index: int, entry: Entry) -> str:
    return f"{path}.{index}.{'operator' if 'type' in entry else 'name'}"


def _stored_times(routed: RoutedLink) -> Iterator[datetime]:
    rules = routed.routing.rules if routed.routing else ()
    for condition in (each for rule in rules for each in rule["conditions"] if each["type"] == "time"):
        yield from (parse_timestamp(at) for at in (condition["from"], condition["to"]) if at)


def _fill_rule(rule: Mapping[str, Any], preferences: Preferences = DEFAULT) -> Entry:
    conditions = [_fill_condition(condition, preferences) for condition in rule["conditions"]]
    return {**rule, "conditions": _mapping(conditions)}


def _fill_condition(condition: Mapping[str, Any], preferences: Preferences) -> Entry:
    filled: Entry = dict(condition)
    type_, values = condition["type"], condition.get("values", [])
    if kind := _PICKED.get(type_):
        filled |= _show_picked(kind, values)
    elif type_ == "schedule":
        filled["weekdays"] = {str(day): str(day) for day in condition["weekdays"]}
    elif type_ == "time":
        times = {name: parse_timestamp(condition[name]) for name in ("from", "to") if condition[name]}
        filled |= {name: preferences.field(at) for name, at in times.items()}
    else:
        filled["values"] = "\n".join(values)
    return filled


def _rule(rule: Entry, read_time: _ReadTime) -> Entry:
    conditions = [_condition(condition, read_time) for condition in _entries(rule["conditions"])]
    return {
        "name": _text(rule, "name") or _name_by(conditions),
        "destination_url": _text(rule, "destination_url"),
        "conditions": conditions,
    }


def _name_by(conditions: Sequence[Entry]) -> str | None:
    """Return the name of a rule without one: the values of its conditions, as people call them."""
    names = [value_name(each["type"], value) for each in conditions for value in each.get("values", ())]
    return ", ".join(names)[:_MAX_NAME] or None


def _variant(letter: str, variant: Entry) -> Entry:
    texts = {"name": _text(variant, "name") or letter, "destination_url": _text(variant, "destination_url")}
    return {**texts, "weight": forms.read_number(_text(variant, "weight") or "")}


def _condition(condition: Entry, read_time: _ReadTime) -> Entry:
    """Return the fields of its type."""
    type_ = condition["type"]
    read: Entry = {"type": type_, "operator": _text(condition, "operator")}
    if type_ == "time":
        return read | {name: read_time(_text(condition, name) or "") for name in ("from", "to")}
    if type_ == "schedule":
        days = condition.get("weekdays")
        read["weekdays"] = [forms.read_number(day) for day in days.values()] if isinstance(days, dict) else []
        return read | {name: _text(condition, name) for name in ("from", "to", "timezone")}
    if type_ == "query":
        read["name"] = _text(condition, "name")
    if kind := _PICKED.get(type_):
        return read | {"values": _picked(condition, kind)}
    lines = (text.strip() for text in _LINES.split(_text(condition, "values") or ""))
    return read | {"values": list(islice(filter(None, lines), MAX_VALUES + 1))}


def _entries(value: Any) -> list[Entry]:
    """Return the mappings of a list, in the order of their indexes."""
    if not isinstance(value, Mapping):
        return []
    indexes = sorted((key for key in value if _INDEX.fullmatch(key)), key=int)
    return [value[index] for index in indexes if isinstance(value[index], dict)]


def _mapping(entries: Sequence[Entry]) -> dict[str, Entry]:
    return {str(index): entry for index, entry in enumerate(entries)}


def _text(entry: Entry, name: str) -> str | None:
    value = entry.get(name)
    return value.strip() or None if isinstance(value, str) else None


def _new_rule(name: str, type_: ConditionType, values: Sequence[str]) -> Entry:
    return _fill_rule({"name": name, "conditions": [{"type": type_, "operator": "in", "values": values}]})


_STORES = [_new_rule("App Store", "platform", ["iOS"]), _new_rule("Google Play", "platform", ["Android"])]
_TEMPLATES: Mapping[str, tuple[str, Sequence[Entry], str]] = {
    "stores": ("rules", _STORES, "destination_url"),
    "countries": ("rules", [_new_rule("", "country", [])], "conditions.0.new"),
    "split": ("variants", [{"name": "B", "weight": "50"}], "destination_url"),
}
"""A list, its new entries, and the field of the first one where the user continues."""
