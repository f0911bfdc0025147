"""Rules of imports, without I/O: which fields, host and slug a link gets, and what changed at its source."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any
from uuid import UUID

from waypost.kit.errors import Errors
from waypost.kit.fields import MAX_URL, parse
from waypost.kit.urls import NO_NAME, UTM_KEYS, BadUrl, PrivateNames, Url, UtmKey, canonical, without_query_keys
from waypost.resources.imports.fitting import PLAIN, Fitted
from waypost.resources.imports.source import Address, SourceLink
from waypost.resources.links import aliases
from waypost.resources.links.aliases.rules import CONTROL_CHARACTERS, MAX_ALIASES, PATH_TOO_LONG
from waypost.resources.links.model import UNTITLED, Link
from waypost.resources.links.rules import LOOP, TOO_LONG, find_slug_problem, is_own_host, with_utm
from waypost.resources.links.schemas import MAX_NOTE, MAX_TAGS, LinkOptionsChange

NEVER_ADDRESSES = (PATH_TOO_LONG, CONTROL_CHARACTERS)
"""Problems of paths that no visitor can have used. With others, a link on the shared domain gets another slug."""
TOO_MANY_ALIASES = f"An alias is left out: a link can have at most {MAX_ALIASES:,}"

_MAX_TEXT = 255
_MAX_PRINTED = 500
_UNREADABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")
"""Control characters, line ends, and marks that change the direction of text."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]+")
"""What no text of several lines may have."""

LINK_FIELDS = ("domain_id", "destination_url", "title", "tags", "is_enabled", "expires_at")
_link_values = attrgetter(*LINK_FIELDS)
OPTIONS = ("forward_query", "note", "external_id")
FIELDS = (
    *LINK_FIELDS,
    *("addresses", "clicks", "routing", "click_limit", "forward_query", "archived", "note", "external_id"),
)
"""What is compared with the last import. Only what differs is changed, so that changes made here stay."""
_DIGEST_SIZE = 8  # hexadecimal digits per field; the last ones are left out if they are empty, as for most links
_KEPT = {
    *("id", "account_id", "slug", "folded_slug", "clicks", "og_image_file_name", "og_image_bytes"),
    *("created_at", "created_by"),
    *("starts_at", "click_limit"),  # they belong to the routing
    "disabled_reason",
}
"""Fields of a link that are not replaced together with the others."""


class Refused(Exception):
    """The row cannot become a link. The message says why."""


@dataclass(frozen=True, slots=True)
class Host:
    """Where the links of a hostname of the source go."""

    domain_id: UUID | None
    """None: the shared domain."""
    hostname: str


@dataclass(frozen=True, slots=True)
class Draft:
    key: UUID
    """See `key_of`."""
    link: Link
    """Its slug is empty if the path cannot be a slug."""
    source: SourceLink
    host: Host
    digest: str
    fitted: Fitted = PLAIN
    """Its start and click limit are in the link, too."""

    @property
    def path(self) -> str:
        """Empty if the source names no short link."""
        return self.source.address.path if self.source.address else ""

    @property
    def is_protected(self) -> bool:
        """Whether it is disabled as long as it has no password here."""
        return bool(self.source.archived) and self.fitted.lacks_password

    @property
    def example(self) -> str:
        """How warnings name it."""
        return self.path if self.source.archived else self.source.source_id


def key_of(account_id: UUID, source: str, source_id: str) -> UUID:
    """Identify a link of a source within the account."""
    text = f"{source}\0{source_id}".encode("utf-8", "surrogatepass")
    return UUID(bytes=blake2b(text, digest_size=16, key=account_id.bytes).digest())


def destination(text: str, *, own_hosts: Collection[str], private: PrivateNames = NO_NAME) -> Url:
    """Return the canonical URL. Raises Refused. Does not find out whether the host is public, or reachable."""
    try:
        url = canonical(text.strip(), private=private)
    except BadUrl as error:
        raise Refused(str(error)) from None
    if len(url.text) > MAX_URL:
        raise Refused(TOO_LONG)
    if is_own_host(url, list(own_hosts)):
        raise Refused(LOOP)
    return url


def draft(
    account_id: UUID,
    source: SourceLink,
    url: Url,
    host: Host,
    *,
    key: UUID,
    link_id: UUID,
    now: datetime,
    reserved: Collection[str],
    fitted: Fitted = PLAIN,
    pixels: Mapping[UUID, UUID],
) -> Draft:
    """`pixels`: those here by those of an archive. Raises Refused."""
    path = _path(source, host)
    link = Link(
        link_id,
        account_id,
        created_at=min(_utc(source.created_at), now) if source.created_at else now,
        updated_at=now,
        slug="" if find_slug_problem(path, reserved) else path,
        domain_id=host.domain_id,
        hostname=host.hostname if host.domain_id else None,
        destination_url=url.text,
        title=_text(source.title or "") or UNTITLED,
        tags=_tags(source.tags),
        expires_at=_utc(source.expires_at) if source.expires_at else None,
        is_enabled=source.is_enabled and not fitted.is_disabled,
        starts_at=fitted.starts_at,
        click_limit=fitted.click_limit,
        **_options(source)[0],
    )
    if source.archived:
        link = replace(link, **source.archived.copied_fields(pixels))
    return Draft(key, link, source, host, _digest(link, source), fitted)


def with_template(link: Link, utm: Mapping[UtmKey, str]) -> Link:
    """Return the link with the parameters of a campaign template, unless its destination has some. Raises Refused."""
    if without_query_keys(link.destination_url, UTM_KEYS) != link.destination_url:
        return link
    filled = with_utm(link, utm)
    if len(filled.destination_url) > MAX_URL:
        raise Refused(TOO_LONG)
    return filled


def _options(source: SourceLink) -> tuple[Mapping[str, Any], Errors]:
    """Return the fields of the link, and the problems of those that are left out."""
    note = source.note and _CONTROLS.sub("", source.note)[:MAX_NOTE]
    external_id = source.external_id or None
    sent = {"forward_query": "all" if source.forwards_query else None, "note": note, "external_id": external_id}
    if not any(sent.values()):
        return {}, {}
    options, problems = parse(LinkOptionsChange, sent)
    return options.values, problems.errors


def _path(source: SourceLink, host: Host) -> str:
    """Raises Refused."""
    if source.address is None:
        return ""
    problem = aliases.find_path_problem(source.address.path)
    if problem and not source.archived and (host.domain_id or problem in NEVER_ADDRESSES):
        raise Refused(f"Path: {problem}")
    return source.address.path


def printable(text: str) -> str:
    """Return a text of the source for the report: some contain what no database stores."""
    return _UNREADABLE.sub("?", text[:_MAX_PRINTED])


def printable_id(source_id: str) -> str:
    """As `printable`. Ids of Shlink have two slashes after the hostname of the default domain."""
    hostname, slashes, code = source_id.partition("//")
    return printable(f"{hostname}/{code}" if slashes and "." in hostname and "/" not in hostname else source_id)


def short_digest(value: Any) -> str:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=8).hexdigest()


def warnings_about(draft: Draft) -> Iterator[str]:
    """Say what of the link does not come along."""
    source = draft.source
    yield from draft.fitted.notes
    for part in source.left_out:
        yield f"Left out: {part}"
    for texts in _options(source)[1].values():
        yield f"The external ID is left out. {texts[0].rstrip('.')}"
    if len(source.note or "") > MAX_NOTE:
        yield f"The note is cut off after {MAX_NOTE:,} characters"
    if source.created_at and _utc(source.created_at) > draft.link.created_at:
        yield "The creation date is in the future: that of the import is used"
    if len(source.title or "") > _MAX_TEXT:
        yield f"The title is cut off after {_MAX_TEXT} characters"
    if len(source.tags) > MAX_TAGS:
        yield f"Tags after the first {MAX_TAGS} are left out"


def changed_fields(before: str, draft: Draft) -> list[str]:
    """`before`: the digest of its last import. What the source does not send stays as it is here."""
    unsent = {name for name in ("note", "external_id") if getattr(draft.source, name) is None}
    return [
        name
        for number, name in enumerate(FIELDS)
        if name not in unsent and _part(before, number) != _part(draft.digest, number)
    ]


def _part(digest: str, number: int) -> str:
    return digest[number * _DIGEST_SIZE : (number + 1) * _DIGEST_SIZE] or _digest_of("")


def apply_changes(link: Link, new: Link, names: Collection[str]) -> Link:
    """Return the link with those fields of `new` that changed at the source."""
    replaced = {name for name in names if name in {*LINK_FIELDS, *OPTIONS}}
    replaced |= {"utm_params"} if "destination_url" in names else set()
    if "archived" in names:
        replaced = Link.__dataclass_fields__.keys() - _KEPT - ({"og_image"} if link.og_image_file_name else set())
    own: dict[str, Any] = {name: getattr(new, name) for name in replaced}
    if "domain_id" in own:
        own["hostname"] = new.hostname
    return replace(link, **own)


def addresses_of(source: SourceLink) -> list[Address]:
    return [*([source.address] if source.address else ()), *source.other_addresses]


def other_addresses(source: SourceLink, *, ignores_case: bool) -> list[Address]:
    """Return the addresses besides the first: further ones, and those in lower case if the source ignores case."""
    addresses = addresses_of(source)
    if ignores_case:
        addresses += [Address(address.hostname, address.path.lower()) for address in addresses]
    return [address for address in dict.fromkeys(addresses) if address != source.address and address.path]


def _digest(link: Link, source: SourceLink) -> str:
    addresses = sorted(f"{address.hostname or ''}/{address.path}" for address in addresses_of(source))
    texts: tuple[str, ...] = (
        *["\n".join(value) if isinstance(value, list) else str(value) for value in _link_values(link)],
        "\n".join(addresses),
        str(source.clicks),
        _routing_text(source),
        str(link.click_limit or ""),
    )
    rare = ["all" if source.forwards_query else ""]
    rare.append(json.dumps(source.archived.to_compare(link), sort_keys=True) if source.archived else "")
    rare += [source.note or "", source.external_id or ""]
    while rare and not rare[-1]:
        rare.pop()
    return "".join(map(_digest_of, (*texts, *rare)))


def _digest_of(text: str) -> str:
    return (_cached_digest if len(text) <= MAX_URL else _new_digest)(text)


def _new_digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_SIZE // 2).hexdigest()


_cached_digest = lru_cache(1_000)(_new_digest)  # links of a page have most texts in common


def _routing_text(source: SourceLink) -> str:
    sent = {name: value for name, value in (source.routing or {}).items() if name != "click_limit"}
    parts = [sent, [*source.lost_rules]]
    return json.dumps(parts, ensure_ascii=False, sort_keys=True) if any(parts) else ""


def _utc(at: datetime) -> datetime:
    """A time without a zone is UTC. The last hours of the year 9999 have no equivalent elsewhere."""
    try:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:
        return at.replace(tzinfo=UTC)


def _text(text: str) -> str:
    return _UNREADABLE.sub(" ", text).strip()[:_MAX_TEXT].strip()


def _tags(tags: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(tag for text in tags if (tag := _text(text))))[:MAX_TAGS]
