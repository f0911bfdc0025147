"""Filters of statistics and of lists of clicks. Pure: parsed once, and the same for the API, pages, shares and files.

    filters = Filters.read(query.multi_items(), ACCOUNT_FILTERS, problems)  # ?country=DE,AT&tag=-old
    filters = Filters.from_json({"country": ["DE", "AT"], "tag": "-old"}, ACCOUNT_FILTERS, problems)
    urlencode(filters.to_query()); filters.to_json()
    shown = of_share & of_visitor  # clicks that match both

Invalid values are left out, and reported by name, in JSON as `filters.<name>`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple, get_args

from waypost.kit.errors import Problems
from waypost.kit.fields import text_problem
from waypost.kit.ids import parse_id
from waypost.resources.clicks.model import HUMAN, ClickKind
from waypost.resources.domains import names
from waypost.visitors.devices import Device

ClickFilterName = Literal["country", "device", "browser", "platform", "referrer", "target", "is_scan"]
LinkFilterName = Literal[
    "link_id", "tag", "hostname", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"
]
FilterName = ClickFilterName | LinkFilterName

LINK_FILTERS: tuple[FilterName, ...] = get_args(ClickFilterName)
"""Of a link. They ask what a click has."""
ACCOUNT_FILTERS: tuple[FilterName, ...] = (*LINK_FILTERS, *get_args(LinkFilterName))
"""Of an account. The added ones ask what the link of a click has now."""

MAX_VALUES = 200
MAX_TEXT = 2048

SEPARATED: Final = ("country", "device", "browser", "platform", "link_id", "hostname")
"""Filters with commas between values. Others can contain them."""
EMPTY_WORDS: Mapping[FilterName, str] = {
    **dict.fromkeys(("country", "browser", "platform"), "unknown"),
    "referrer": "direct",
    **dict.fromkeys(("tag", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"), "none"),
}
"""Words that stand for the empty value."""
DEVICES: tuple[Device, ...] = get_args(Device)
CHOICES: Mapping[FilterName, tuple[str, ...]] = {"device": DEVICES, "is_scan": ("true", "false")}

_NO_UTM = "`none` for links without one"
FILTER_TEXTS: Mapping[FilterName, tuple[str, str]] = {
    "country": ("Two-letter country codes, or `unknown`", "DE"),
    "device": (f"Types of device: {', '.join(DEVICES)}", "mobile"),
    "browser": ("Browser families, or `unknown`", "Firefox"),
    "platform": ("Operating system families, or `unknown`", "Android"),
    "referrer": ("Origin and path of the referring page, a host for all its pages, or `direct`", "news.example"),
    "target": ("Names of rules and variants, or `default`", "iPhone"),
    "is_scan": ("`true` for scans of QR codes, `false` for other clicks", "true"),
    "link_id": ("IDs of links", "01a1fbb2-2855-72ee-8e77-c161c4205e89"),
    "tag": ("Tags that links have now, `none` for links without tags", "spring"),
    "hostname": ("Hostnames of links", "go.example.com"),
    "utm_source": (f"UTM sources of links, {_NO_UTM}", "newsletter"),
    "utm_medium": (f"UTM mediums of links, {_NO_UTM}", "email"),
    "utm_campaign": (f"UTM campaigns of links, {_NO_UTM}", "spring"),
    "utm_term": (f"UTM terms of links, {_NO_UTM}", "shoes"),
    "utm_content": (f"UTM contents of links, {_NO_UTM}", "footer"),
}
"""What each filter takes, and an example."""

_NO_LINK_ID = "This must be a UUID."
_COUNTRY = re.compile(r"[A-Z][A-Z0-9]", re.IGNORECASE | re.ASCII)


class FilterValue(NamedTuple):
    text: str
    """Canonical; empty for clicks and links without a value."""
    is_excluded: bool


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition on one name: has one of the included values, if there are any, and none of the excluded ones."""

    name: FilterName
    values: tuple[FilterValue, ...]

    @property
    def included(self) -> list[str]:
        return [text for text, is_excluded in self.values if not is_excluded]

    @property
    def excluded(self) -> list[str]:
        return [text for text, is_excluded in self.values if is_excluded]


@dataclass(frozen=True, slots=True)
class Filters:
    clauses: tuple[Clause, ...] = ()
    """All must match. Those that were read have different names."""

    @classmethod
    def read(
        cls, sent: Iterable[tuple[str, str]], names: Collection[FilterName], problems: Problems, path: str = ""
    ) -> "Filters":
        """Read parameters, of which those with other names are ignored. `path`: before the names of problems."""
        found: dict[FilterName, dict[FilterValue, None]] = {}
        known: Mapping[str, FilterName] = {name: name for name in names}
        for count, (name, text) in enumerate(_split(sent, known)):
            if count == MAX_VALUES:
                problems.add(f"{path}{name}", f"All filters together can have at most {MAX_VALUES} values.")
                break
            try:
                value = _read_value(name, text)
            except ValueError as error:
                problems.add(f"{path}{name}", str(error))
            else:
                found.setdefault(name, {})[value] = None
        return cls(tuple(Clause(name, tuple(values)) for name, values in found.items()))

    @classmethod
    def from_json(cls, content: object, names: Collection[FilterName], problems: Problems) -> "Filters":
        """Read an object of texts and lists of texts, as in a query."""
        if not isinstance(content, dict):
            problems.add("filters", 'This must be an object, such as {"country": ["DE", "AT"]}.')
            return cls()
        sent: list[tuple[str, str]] = []
        for name, value in content.items():
            texts = value if isinstance(value, list) else [value]
            if name not in names:
                problems.add(f"filters.{name[:MAX_TEXT]}", f"Unknown filter. Use: {', '.join(names)}.")
            elif all(isinstance(text, str) for text in texts):
                sent += [(name, text) for text in texts or [""]]
            else:
                problems.add(f"filters.{name}", "This must be a text or a list of texts.")
        check_link_ids(sent, names, problems, "filters.")
        return cls.read(sent, names, problems, "filters.")

    def to_query(self) -> list[tuple[str, str]]:
        """Return the parameters that `read` reads as these filters."""
        return [(clause.name, _write_value(clause.name, value)) for clause in self.clauses for value in clause.values]

    def to_json(self) -> dict[str, list[str]]:
        """Return the object that `from_json` reads as these filters."""
        content: dict[str, list[str]] = {}
        for name, text in self.to_query():
            content.setdefault(name, []).append(text)
        return content

    def __and__(self, other: "Filters") -> "Filters":
        return Filters(self.clauses + other.clauses)

    def __bool__(self) -> bool:
        return bool(self.clauses)

    @property
    def of_clicks(self) -> list[Clause]:
        return [clause for clause in self.clauses if clause.name in LINK_FILTERS]

    @property
    def of_links(self) -> list[Clause]:
        return [clause for clause in self.clauses if clause.name not in LINK_FILTERS]


NO_FILTERS = Filters()


@dataclass(frozen=True, slots=True)
class ClickFilter:
    """Which clicks a list shows."""

    kind: ClickKind | None = HUMAN
    """None: every kind."""
    start: datetime | None = None
    end: datetime | None = None
    filters: Filters = NO_FILTERS


def check_link_ids(sent: Iterable[tuple[str, str]], names: Collection[str], problems: Problems, path: str = "") -> None:
    """Report a `link_id` without any ID, which would choose all links. Not for forms: they send blank fields."""
    texts = [text for name, text in sent if name == "link_id" and name in names]
    if texts and not "".join(texts).replace(",", "").strip():
        problems.add(f"{path}link_id", _NO_LINK_ID)


def _split(sent: Iterable[tuple[str, str]], known: Mapping[str, FilterName]) -> Iterator[tuple[FilterName, str]]:
    """Yield each value. Nothing between two commas is no value, like an empty parameter."""
    for sent_name, text in sent:
        if name := known.get(sent_name):
            parts = (part.strip() for part in text.split(",")) if name in SEPARATED else (text,)
            yield from ((name, part) for part in parts if part)


def _read_value(name: FilterName, text: str) -> FilterValue:
    """Raises ValueError with the problem."""
    value = text.removeprefix("-")
    if not value:
        raise ValueError("Name the value to exclude after the minus sign.")
    if value == EMPTY_WORDS.get(name):
        return FilterValue("", is_excluded=value != text)
    if _is_escaped(name, value):
        value = value[1:]
    return FilterValue(_canonical(name, value), is_excluded=text[0] == "-")


def _write_value(name: FilterName, value: FilterValue) -> str:
    text = value.text or EMPTY_WORDS[name]
    if value.text and _is_escaped(name, f"\\{text}"):
        text = f"\\{text}"
    return f"-{text}" if value.is_excluded else text


def _is_escaped(name: FilterName, text: str) -> bool:
    """Return whether a backslash is before what would be a sign, a word for the empty value, or such a backslash."""
    rest = text.lstrip("\\")
    return rest != text and (rest.startswith("-") or rest == EMPTY_WORDS.get(name))


def _canonical(name: FilterName, text: str) -> str:
    if len(text) > MAX_TEXT:
        raise ValueError(f"This must have at most {MAX_TEXT} characters.")
    if problem := text_problem(text):
        raise ValueError(problem)
    if name in CHOICES and text not in CHOICES[name]:
        raise ValueError(f"This must be one of: {', '.join(CHOICES[name])}.")
    if name == "country":
        if not _COUNTRY.fullmatch(text):
            raise ValueError("This must be a two-letter country code, such as DE, or unknown.")
        return text.upper()
    if name == "link_id":
        link_id = parse_id(text)
        if link_id is None:
            raise ValueError(_NO_LINK_ID)
        return str(link_id)
    if name == "hostname":
        return names.canonical_or_lower(text)
    return text if name != "referrer" or "://" in text else text.lower()
