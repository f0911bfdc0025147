"""Makes what a source says of a link's routing one that a link here may have.

Pure. What cannot be taken over is left out and noted. Where visitors would then be sent elsewhere, or without a
password, the link is imported disabled.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from waypost.kit.clock import parse_timestamp
from waypost.kit.errors import Problems
from waypost.kit.fields import parse, text_problem
from waypost.kit.urls import Url
from waypost.redirect import DEFAULT_TARGET
from waypost.resources.imports.source import SourceLink
from waypost.resources.links.routing import RuleJson, VariantJson
from waypost.resources.links.routing.schemas import (
    MAX_CLICKS,
    MAX_NAME,
    MAX_RULES,
    MAX_VARIANTS,
    ParsedRouting,
    RoutingFields,
    parse_routing,
)

if TYPE_CHECKING:
    from waypost.resources.imports.archive.links import ArchivedLink

DISABLED = "The link is disabled: edit its routing, then enable it"
NO_PASSWORD = "The link is disabled: set a password for it, then enable it"  # noqa: S105  # a message
NO_ARCHIVED_PASSWORD = "The password is not in the export: the link is disabled. Set a password, then enable the link"  # noqa: S105
UNUSABLE = "The routing cannot be used: the link is disabled. Set its routing, then enable the link"
TO_OWN = "Its visitors go to the link's own destination"

CheckedUrls = Mapping[str, Url | str]
"""By what the source sent: the canonical URL, or why it is refused."""

_Entry = dict[str, Any]
_HASH = re.compile(r"\$(2[abxy]|argon2)")
"""How hashes of passwords begin: the password itself is not known."""


@dataclass(frozen=True, slots=True)
class Fitted:
    rules: Sequence[RuleJson] = ()
    variants: Sequence[VariantJson] = ()
    starts_at: datetime | None = None
    click_limit: int | None = None
    fallback_url: str | None = None
    password: str | None = field(default=None, repr=False)
    lacks_password: bool = False
    """Visitors need one that cannot be set here."""
    updated_at: datetime | None = None
    """None: now."""
    is_disabled: bool = False
    notes: Sequence[str] = ()
    """What is left out, for the report."""

    @property
    def is_plain(self) -> bool:
        return not (
            self.rules or self.variants or self.starts_at or self.click_limit or self.fallback_url or self.password
        )


PLAIN = Fitted()


def urls_of(source: SourceLink) -> Iterator[str]:
    """Yield the destinations of the routing, as far as a link may have as many."""
    body = source.routing or {}
    for entry in (*body.get("rules", ())[:MAX_RULES], *_used(body.get("variants", ()))[:MAX_VARIANTS]):
        yield entry["destination_url"]
    if url := body.get("fallback_url"):
        yield url


@dataclass(slots=True)
class _Losses:
    notes: list[str] = field(default_factory=list)
    is_disabled: bool = False
    lacks_password: bool = False

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def disable(self, text: str) -> None:
        self.note(text)
        self.is_disabled = True

    def rule(self, what: str) -> None:
        """Its visitors would be sent elsewhere."""
        self.disable(f"Left out: {what}. {DISABLED}")

    def variant(self, what: str) -> None:
        """Visitors get any of the variants, so they may get another one."""
        self.note(f"Left out: {what}. {TO_OWN}")

    def password(self, why: str) -> None:
        self.disable(f"The password {why}. {NO_PASSWORD}")
        self.lacks_password = True


def fit(source: SourceLink, urls: CheckedUrls, *, has_rows: bool) -> Fitted:
    """`urls`: those of `urls_of`. `has_rows`: the clicks of the link are imported with their times."""
    if not (source.routing or source.lost_rules or source.has_unreadable_password):
        return PLAIN
    if source.archived:
        return _fit_archived(source.archived, source.routing or {}, urls)
    body, losses = source.routing or {}, _Losses()
    for what in source.lost_rules:
        losses.rule(what)
    sent = body.get("rules", ())
    rules = _resolve(sent[:MAX_RULES], urls, lambda reason: losses.rule(f"a rule. {reason}"))
    if len(sent) > MAX_RULES:
        losses.rule(f"rules after the first {MAX_RULES}")
    variants = _variants(body.get("variants", ()), urls, losses)
    password = body.get("password")
    if source.has_unreadable_password or (password and _HASH.match(password)):
        losses.password("cannot be read")
        password = None
    parsed, password = _parse(_with_names(rules, variants), variants, password, losses)
    return Fitted(
        rules=parsed.rules,
        variants=parsed.variants,
        starts_at=parse_timestamp(body["starts_at"]) if body.get("starts_at") else None,
        click_limit=_click_limit(source, losses, has_rows=has_rows),
        fallback_url=_fallback(body.get("fallback_url"), urls, losses),
        password=password,
        lacks_password=losses.lacks_password,
        is_disabled=losses.is_disabled,
        notes=losses.notes,
    )


def _fit_archived(archived: "ArchivedLink", body: Mapping[str, Any], urls: CheckedUrls) -> Fitted:
    """Take over all of the routing, or nothing: an archive has only what the API has accepted."""
    fields, problems = archived.routing, [archived.routing_problem] if archived.routing_problem else []

    def resolve(place: str, text: str) -> str:
        url = urls[text]
        if isinstance(url, str):
            problems.append(f"{place}: {url}".rstrip("."))
            return text
        return url.text

    found: dict[str, list[Any]] = {
        name: [
            {**entry, "destination_url": resolve(f"{name}.{index}.destination_url", entry["destination_url"])}
            for index, entry in enumerate(body.get(name, ()))
        ]
        for name in ("rules", "variants")
    }
    fallback_url = resolve("fallback_url", body["fallback_url"]) if body.get("fallback_url") else None
    if problems:
        return Fitted(is_disabled=True, notes=[f"{UNUSABLE}. {problems[0]}"])
    return Fitted(
        rules=found["rules"],
        variants=found["variants"],
        starts_at=fields.starts_at,
        click_limit=fields.click_limit,
        fallback_url=fallback_url,
        lacks_password=fields.has_password,
        updated_at=fields.updated_at or archived.row.updated_at,
    )


def _click_limit(source: SourceLink, losses: _Losses, *, has_rows: bool) -> int | None:
    """Return how many clicks are left.

    A limit counts all clicks of the link here. Those that are imported with their times are among them, except for
    bots; a total is not.
    """
    limit = (source.routing or {}).get("click_limit") or 0
    if limit < 1:
        return None
    if source.clicks is None:
        losses.note("The source does not say how many clicks of the limit are used: it counts from 0")
    elif source.clicks >= limit:
        losses.disable("The click limit is used up. The link is disabled")
        return None
    used = source.bot_clicks if has_rows else source.clicks or 0
    return min(max(1, limit - used), MAX_CLICKS)


def _resolve(entries: Sequence[Mapping[str, Any]], urls: CheckedUrls, leave_out: Callable[[str], None]) -> list[_Entry]:
    """Return the entries with canonical destinations."""
    resolved = []
    for entry in entries:
        url = urls[entry["destination_url"]]
        if isinstance(url, str):
            leave_out(url.rstrip("."))
        else:
            resolved.append({**entry, "destination_url": url.text})
    return resolved


def _used(variants: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    return [variant for variant in variants if variant["weight"] > 0]


def _variants(entries: Sequence[Mapping[str, Any]], urls: CheckedUrls, losses: _Losses) -> list[_Entry]:
    used = _used(entries)
    variants = _resolve(used[:MAX_VARIANTS], urls, lambda reason: losses.variant(f"a variant. {reason}"))
    if len(used) > MAX_VARIANTS:
        losses.variant(f"variants after the first {MAX_VARIANTS}")
    weights = [variant["weight"] for variant in variants]
    if (total := sum(weights)) > 100:
        losses.note("The weights of the variants are more than 100 together: they are scaled down")
        weights = [max(1, weight * 100 // total) for weight in weights]
        weights[weights.index(max(weights))] -= max(0, sum(weights) - 100)
    return [{**variant, "weight": weight} for variant, weight in zip(variants, weights, strict=True)]


def _with_names(rules: Sequence[_Entry], variants: Sequence[_Entry]) -> list[_Entry]:
    """Return the rules with names that are valid, and not those of others."""
    used = {DEFAULT_TARGET, *(variant["name"] for variant in variants)}
    named = []
    for index, rule in enumerate(rules):
        base = rule["name"][: MAX_NAME - 20].strip()
        name = base = f"Rule {index + 1}" if not base or text_problem(base) else base
        number = 1
        while name in used:
            number += 1
            name = f"{base} ({number})"
        used.add(name)
        named.append({**rule, "name": name})
    return named


def _parse(
    rules: list[_Entry], variants: list[_Entry], password: str | None, losses: _Losses
) -> tuple[ParsedRouting, str | None]:
    """Leave out what the API would refuse."""
    while True:
        fields, problems = parse(RoutingFields, {"rules": rules, "variants": variants, "password": password})
        parsed = parse_routing(fields, problems)
        if not problems:
            return parsed, password
        rules, reasons = _without_wrong(rules, "rules", problems)
        for reason in reasons:
            losses.rule(f"a rule. {reason}")
        variants, reasons = _without_wrong(variants, "variants", problems)
        for reason in reasons:
            losses.variant(f"a variant. {reason}")
        if "password" in problems:
            losses.password(f"cannot be used. {problems.errors['password'][0].rstrip('.')}")
            password = None


def _without_wrong(entries: list[_Entry], name: str, problems: Problems) -> tuple[list[_Entry], list[str]]:
    """Return the entries without a problem, and the first problem of each other."""
    if messages := problems.errors.get(name):  # all together are too long
        return entries[:-1], [messages[0].rstrip(".")]
    wrong: dict[int, str] = {}
    for path, messages in problems.errors.items():
        in_list, _, rest = path.partition(".")
        if in_list == name:
            wrong.setdefault(int(rest.partition(".")[0]), messages[0].rstrip("."))
    return [entry for index, entry in enumerate(entries) if index not in wrong], [*wrong.values()]


def _fallback(text: str | None, urls: CheckedUrls, losses: _Losses) -> str | None:
    url = urls[text] if text else None
    if isinstance(url, str):
        losses.note(f"Left out: the URL after the end. {url.rstrip('.')}. Its visitors get the not-found page")
        return None
    return url.text if url else None
