"""Short.io: the links of all domains of an account."""

from urllib.parse import parse_qs, quote, urlencode

from waypost.outbound import Outbound
from waypost.resources.imports import sections
from waypost.resources.imports.client import SourceClient, Wait, ask_each
from waypost.resources.imports.json_fields import (
    BadField,
    Row,
    integer,
    names,
    objects,
    read_links,
    required_text,
    rows,
    text,
    time,
)
from waypost.resources.imports.routing_data import country_rules, routing, rule, variant
from waypost.resources.imports.source import (
    Address,
    LinkPage,
    NotThere,
    SourceLink,
    SourceOptions,
    UnexpectedAnswer,
    WrongToken,
)

ORIGIN = "https://api.short.io"
PAGE = 150
AT_ONCE = 4
"""Requests for destinations by country, one for each link."""
NO_COUNTRIES = "Short.io does not list destinations by country for this key: rules by country are left out"
PLATFORMS = {"iphoneURL": "iOS", "androidURL": "Android"}
UTM_FIELDS = {
    "utmSource": "utm_source",
    "utmMedium": "utm_medium",
    "utmCampaign": "utm_campaign",
    "utmTerm": "utm_term",
    "utmContent": "utm_content",
}
PIXELS = ("integrationFB", "integrationTT", "integrationGA", "integrationGTM", "integrationAdroll")


def open_source(options: SourceOptions, outbound: Outbound, wait: Wait) -> "ShortIo":
    return ShortIo(outbound, options.required_token(), wait, options.url or ORIGIN)


class ShortIo:
    name = "short-io"
    ignores_case = False  # each domain decides: `_link` adds the lower-case address where it does

    def __init__(self, outbound: Outbound, token: str, wait: Wait, origin: str) -> None:
        self._client = SourceClient(outbound, origin, headers={"Authorization": token}, wait=wait)
        self._domains: dict[str, Row] | None = None
        self._lists_countries = True

    async def check(self) -> None:
        await self._read_domains()

    async def link_page(self, cursor: str | None) -> LinkPage:
        domains = await self._read_domains()
        domain_id, token = sections.place(cursor, [*domains], "domain")
        query: dict[str, str | int] = {"domain_id": domain_id, "limit": PAGE}
        answer = await self._client.get("/api/links", query | ({"pageToken": token} if token else {}))
        domain = domains[domain_id]
        found = await self._with_countries(rows(answer, "links"), domain_id)
        links, refused = read_links(found, "idString", lambda row: _link(row, domain))
        next_token = text(answer, "nextPageToken")
        total = integer(answer, "count") if len(domains) == 1 else None
        following = sections.following(domain_id, token, next_token, [*domains])
        return LinkPage(links, following, refused, [] if self._lists_countries else [NO_COUNTRIES], total)

    async def _read_domains(self) -> dict[str, Row]:
        if self._domains is None:
            found = rows(await self._client.get("/api/domains"))
            self._domains = {required_text(domain, "id"): domain for domain in found}
        return self._domains

    async def _with_countries(self, found: list[Row], domain_id: str) -> list[Row]:
        """Add `countries` to each row. The list of links does not say which have any."""
        if not self._lists_countries:
            return found
        answers: list[bool] = []

        async def with_countries(row: Row) -> Row:
            try:
                path = f"/link_country/{quote(required_text(row, 'idString'), safe='')}"
                answer = await self._client.get(path, {"domainId": domain_id})
                answers.append(True)
                return {**row, "countries": rows(answer)}
            except NotThere:  # the link was deleted meanwhile
                answers.append(False)
            except BadField:  # `_link` refuses the row
                return row
            except (WrongToken, UnexpectedAnswer):
                self._lists_countries = False
            return row

        asked = await ask_each(found, with_countries, at_once=AT_ONCE)
        self._lists_countries &= not answers or any(answers)
        return asked


def _link(row: Row, domain: Row) -> SourceLink:
    hostname = required_text(domain, "hostname").lower()
    address = Address(hostname, text(row, "path") or "")
    in_lower_case = Address(hostname, address.path.lower())
    destination_url = _with_utm(required_text(row, "originalURL"), row)
    password = text(row, "password")
    countries = objects(row, "countries")
    by_country = {
        country: url for each in countries if (country := text(each, "country")) and (url := text(each, "originalURL"))
    }
    return SourceLink(
        required_text(row, "idString"),
        address,
        destination_url,
        title=text(row, "title"),
        tags=names(row, "tags"),
        created_at=time(row, "createdAt"),
        expires_at=time(row, "expiresAt"),
        other_addresses=[in_lower_case] if domain.get("caseSensitive") is False and in_lower_case != address else [],
        has_unreadable_password=bool(row.get("hasPassword")) and password is None,
        routing=routing(
            rules=[
                *(rule("platform", [name], url) for field, name in PLATFORMS.items() if (url := text(row, field))),
                *country_rules(by_country),
            ],
            variants=_variants(row),
            password=password,
            click_limit=integer(row, "clicksLimit"),
            fallback_url=text(row, "expiredURL"),
        ),
        forwards_query=row.get("skipQS") is False,
        lost_rules=["a destination by country"] if len(by_country) < len(countries) else [],
        left_out=[
            *(["retargeting pixels"] if any(row.get(name) for name in PIXELS) else []),
            *(["cloaking"] if row.get("cloaking") else []),
        ],
    )


def _variants(row: Row) -> list[dict[str, object]]:
    url, percent = text(row, "splitURL"), integer(row, "splitPercent")
    return [variant("Split", url, min(percent, 100))] if url and percent else []


def _with_utm(url: str, row: Row) -> str:
    """Short.io adds these parameters when it redirects, unless the URL has them already."""
    before, hash_sign, fragment = url.partition("#")
    present = parse_qs(before.partition("?")[2], keep_blank_values=True)
    missing = {key: value for name, key in UTM_FIELDS.items() if key not in present and (value := text(row, name))}
    if not missing:
        return url
    return f"{before}{'&' if '?' in before else '?'}{urlencode(missing)}{hash_sign}{fragment}"
