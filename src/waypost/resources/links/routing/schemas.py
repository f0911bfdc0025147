"""The routing that a request sends, and its JSON. `service` checks the destinations."""

import json
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar
from uuid import UUID

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.docs import doc, doc_as, field
from waypost.kit.errors import Problems
from waypost.kit.fields import (
    NOT_BLANK,
    Body,
    Documented,
    IdText,
    Text,
    Timestamp,
    TimestampText,
    UriText,
    UrlText,
    max_characters,
    max_entries,
    parse,
)
from waypost.redirect import DEFAULT_TARGET
from waypost.resources.links.routing.conditions import EMPTY_LIST, ConditionFields, check_condition
from waypost.resources.links.routing.model import CONDITIONS, DESTINATION, WEIGHT, LinkRouting, RuleJson, VariantJson

MAX_RULES = 20
MAX_CONDITIONS = 5
MAX_VARIANTS = 10
MAX_NAME = 255
MAX_RULES_TEXT = 100_000
"""Characters of all rules as JSON: redirects keep them in memory."""
MAX_CLICKS = 2**31 - 1
MIN_PASSWORD, MAX_PASSWORD = 4, 128

NO_OBJECT = "This must be an object."
NAME_TAKEN = "Another rule or variant has this name. Statistics are counted by name: choose another one."
NAME_RESERVED = f'"{DEFAULT_TARGET}" is the name of the link\'s own destination in statistics. Choose another one.'
OVER_100 = "The weights of all variants together must be at most 100."
RULES_TOO_LONG = f"The rules have more than {MAX_RULES_TEXT:,} characters together. Use fewer or shorter values."
WRONG_LENGTH = f"The password must have {MIN_PASSWORD} to {MAX_PASSWORD} characters."
NO_UNICODE = "This is not valid Unicode."

B = TypeVar("B", bound=Body)


def _check_password(text: str) -> str:
    if not MIN_PASSWORD <= len(text) <= MAX_PASSWORD:
        raise ValueError(WRONG_LENGTH)
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(NO_UNICODE)
    return text


_PASSWORD = {"minLength": MIN_PASSWORD, "maxLength": MAX_PASSWORD, "writeOnly": True}
NameText = Annotated[Text, max_characters(MAX_NAME), NOT_BLANK]
Password = Annotated[str, Documented(_PASSWORD, AfterValidator(_check_password))]


class RuleFields(Body):
    """Each entry of `conditions` is parsed apart."""

    REQUIRED = ("name", "conditions", "destination_url")
    NESTED: ClassVar = {"conditions": ConditionFields}

    name: NameText | None = field("Name")
    conditions: Annotated[list[Any], max_entries(MAX_CONDITIONS), Documented({"minItems": 1})] | None = field(
        CONDITIONS
    )
    destination_url: UrlText | None = field(DESTINATION)


class VariantFields(Body):
    REQUIRED = ("name", "destination_url", "weight")

    name: NameText | None = field("Name")
    destination_url: UrlText | None = field(DESTINATION)
    weight: Annotated[int, Field(ge=1, le=100)] | None = field(WEIGHT)


class RoutingFields(Body):
    """Replaces the routing; null means the same as leaving a field out, except for the password.

    Each entry of `rules` and `variants` is parsed apart.
    """

    NESTED: ClassVar = {"rules": RuleFields, "variants": VariantFields}
    EXAMPLE: ClassVar = {
        "rules": [
            {"name": "iPhone", "conditions": [ConditionFields.EXAMPLE], "destination_url": "https://example.com/ios"}
        ],
        "variants": [{"name": "B", "destination_url": "https://example.com/b", "weight": 50}],
        "click_limit": 1000,
        "fallback_url": "https://example.com/over",
    }

    rules: Annotated[list[Any], max_entries(MAX_RULES)] | None = field(
        "At most 20 rules; the first that matches counts"
    )
    variants: Annotated[list[Any], max_entries(MAX_VARIANTS)] | None = field(
        "At most 10 variants, for visitors without a matching rule. The weights add up to at most 100"
    )
    password: Password | None = field(
        "4 to 128 characters that visitors have to enter; null removes it, and without this field it stays."
        " It is never returned.",
        "correct horse",
        repr=False,
    )
    starts_at: Timestamp | None = field(
        "Time before which the link does not redirect; null for no start", "2026-12-01T08:00:00.000000Z"
    )
    click_limit: Annotated[int, Field(ge=1, le=MAX_CLICKS)] | None = field(
        "Number of clicks after which the link ends; null for no limit"
    )
    fallback_url: UrlText | None = field(
        "URL for visitors before the start, after the click limit, and of an expired link; null for an error page"
    )

    @property
    def replaced(self) -> AbstractSet[str]:
        """The names of the fields that get what was sent, or nothing."""
        return RoutingFields.model_fields.keys() - ({"password"} - self.model_fields_set)


class RoutingChange(RoutingFields):
    """Changes the fields that were sent, for forms that have a part of a routing."""

    @property
    def replaced(self) -> AbstractSet[str]:
        return self.model_fields_set


class ParsedRouting(NamedTuple):
    rules: Sequence[RuleJson]
    variants: Sequence[VariantJson]
    urls: Sequence[tuple[str, str]]
    """(where it is in the request, URL) of each destination that was sent."""


def parse_routing(fields: RoutingFields, problems: Problems) -> ParsedRouting:
    """Check the rules and variants. If there are problems, the lists must not be used, but the URLs may be checked."""
    rules, variants, urls = [], [], []
    names: set[str] = set()
    for path, rule, found in _parse_entries("rules", RuleFields, fields.rules, problems):
        _check_name(rule.name, names, found)
        urls.append((f"{path}.destination_url", rule.destination_url))
        rules.append(_rule(rule, found))
    total = 0
    for path, variant, found in _parse_entries("variants", VariantFields, fields.variants, problems):
        _check_name(variant.name, names, found)
        urls.append((f"{path}.destination_url", variant.destination_url))
        variants.append(_variant(variant))
        before, total = total, total + (variant.weight or 0)
        if before <= 100 < total:
            found.add("weight", OVER_100)
    if not problems and len(json.dumps(rules, ensure_ascii=False)) > MAX_RULES_TEXT:
        problems.add("rules", RULES_TOO_LONG)
    urls.append(("fallback_url", fields.fallback_url))
    return ParsedRouting(rules, variants, [(path, url) for path, url in urls if url is not None])


def _parse_entries(
    name: str, model: type[B], entries: Iterable[Any] | None, problems: Problems
) -> Iterator[tuple[str, B, Problems]]:
    """Yield where each entry is, its fields and their problems, to which the caller may add."""
    for index, sent in enumerate(entries or ()):
        path = f"{name}.{index}"
        if not isinstance(sent, dict):
            problems.add(path, NO_OBJECT)
            continue
        fields, found = parse(model, sent)
        fields.check_required(found)
        yield path, fields, found
        problems.add_all(path, found)


def _rule(rule: RuleFields, problems: Problems) -> RuleJson:
    if rule.conditions == []:
        problems.add("conditions", EMPTY_LIST)
    entries = _parse_entries("conditions", ConditionFields, rule.conditions, problems)
    conditions = [check_condition(fields, found) for _, fields, found in entries]
    return {"name": rule.name or "", "conditions": conditions, "destination_url": rule.destination_url or ""}


def _variant(variant: VariantFields) -> VariantJson:
    return {
        "name": variant.name or "",
        "destination_url": variant.destination_url or "",
        "weight": variant.weight or 0,
    }


def _check_name(name: str | None, used: set[str], problems: Problems) -> None:
    """`used`: the names before this one, which is added."""
    if name == DEFAULT_TARGET:
        problems.add("name", NAME_RESERVED)
    if name in used:
        problems.add("name", NAME_TAKEN)
    if name is not None:
        used.add(name)


class RoutingJson(TypedDict):
    link_id: Annotated[IdText, doc("ID of the link", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    rules: Annotated[list[RuleJson], doc_as(RoutingFields, "rules")]
    variants: Annotated[list[VariantJson], doc_as(RoutingFields, "variants")]
    starts_at: Annotated[TimestampText | None, doc_as(RoutingFields, "starts_at", None)]
    click_limit: Annotated[int | None, doc_as(RoutingFields, "click_limit", 1000)]
    fallback_url: Annotated[UriText | None, doc_as(RoutingFields, "fallback_url", "https://example.com/over")]
    has_password: Annotated[bool, doc("Whether visitors have to enter a password", False)]
    updated_at: Annotated[TimestampText | None, doc("Time of the last change", "2026-11-23T07:00:00.000000Z")]


def to_json(
    link_id: UUID, routing: LinkRouting | None, *, starts_at: datetime | None, click_limit: int | None
) -> RoutingJson:
    """`starts_at` and `click_limit`: those of the link."""
    return {
        "link_id": str(link_id),
        "rules": list(routing.rules) if routing else [],
        "variants": list(routing.variants) if routing else [],
        "starts_at": timestamp(starts_at) if starts_at else None,
        "click_limit": click_limit,
        "fallback_url": routing.fallback_url if routing else None,
        "has_password": routing is not None and routing.password_hash is not None,
        "updated_at": timestamp(routing.updated_at) if routing else None,
    }
