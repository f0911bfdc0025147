"""Shlink: the short URLs that an API key sees, their redirect rules and their visits."""

from functools import partial
from typing import Any
from urllib.parse import quote

from waypost.outbound import Outbound
from waypost.resources.imports import routing_data
from waypost.resources.imports.client import SourceClient, Wait, ask_each
from waypost.resources.imports.json_fields import (
    BadField,
    Row,
    integer,
    names,
    nested,
    objects,
    read_clicks,
    read_links,
    required_text,
    rows,
    text,
    time,
)
from waypost.resources.imports.offset import Offset, total
from waypost.resources.imports.short_urls import address_of, hostname_of
from waypost.resources.imports.source import (
    Address,
    ClickPage,
    LinkPage,
    NotThere,
    SourceClick,
    SourceLink,
    SourceOptions,
    UnexpectedAnswer,
)

LINKS, VISITS = 100, 2000
"""Rows of a page."""
MAX_REPEATED = 20
"""Pages in a row. Some thousand equal visits in one second are possible."""
AT_ONCE = 4
"""Requests for redirect rules, one for each link."""
DEVICES = {
    "android": ("platform", ["Android"]),
    "ios": ("platform", ["iOS"]),
    "windows": ("platform", ["Windows"]),
    "macos": ("platform", ["macOS"]),
    "linux": ("platform", ["Linux"]),
    "chromeos": ("platform", ["ChromeOS"]),
    "mobile": ("device", ["mobile", "tablet"]),
    "desktop": ("device", ["desktop"]),
}


def open_source(options: SourceOptions, outbound: Outbound, wait: Wait) -> "Shlink":
    return Shlink(outbound, options.required_token(), wait, options.required_url())


class Shlink:
    """The cursor is a page number; the oldest links come first, so that new ones do not move the others."""

    name = "shlink"
    ignores_case = False

    def __init__(self, outbound: Outbound, token: str, wait: Wait, origin: str) -> None:
        self._client = SourceClient(outbound, origin, headers={"X-Api-Key": token}, wait=wait)
        self._hostname = hostname_of(origin)
        self._visits: list[Row] = []
        self._repeated = 0
        """How often in a row the last page of visits was sent."""
        self._has_rules = True
        """Whether this version of Shlink knows redirect rules, as far as is known."""

    async def check(self) -> None:
        rows(await self._list(1, 1), "shortUrls", "data")

    async def link_page(self, cursor: str | None) -> LinkPage:
        at = Offset.parse(cursor, first=1)
        answer = await self._list(at.start, LINKS)
        pagination = _pagination(answer, "shortUrls")
        count = total(pagination, "totalItems")
        if deleted := at.deleted_since(count):
            at = Offset(max(1, at.start - -(-deleted // LINKS)), count)
            answer = await self._list(at.start, LINKS)
        found = rows(answer, "shortUrls", "data")
        links, refused = read_links(await self._with_rules(found), "shortCode", self._link)
        is_last = not found or at.start >= (total(pagination, "pagesCount") or 0)
        return LinkPage(links, None if is_last else str(Offset(at.start + 1, count)), refused, total=count)

    async def clicks_of_link(self, source_id: str, cursor: str | None) -> ClickPage:
        """Visits come newest first. Those made since the first page move the others on, so as many are left out."""
        domain, code = _domain_and_code(source_id)
        page, newer, known = (int(part) for part in cursor.split()) if cursor else (1, 0, 0)
        query: dict[str, str | int] = {"page": page, "itemsPerPage": VISITS}
        try:
            answer = await self._client.get(f"{_path(code)}/visits", query | ({"domain": domain} if domain else {}))
        except NotThere:  # deleted meanwhile
            return ClickPage([], None)
        found = rows(answer, "visits", "data")
        self._check_end(found, is_first=cursor is None)
        pagination = _pagination(answer, "visits")
        count = total(pagination, "totalItems") or 0
        newer += max(0, count - known) if cursor else 0
        is_last = not found or page >= (total(pagination, "pagesCount") or 0)
        following = f"{page + 1} {max(0, newer - len(found))} {count}"
        return read_clicks(found[newer:], partial(_click, source_id), None if is_last else following)

    def _check_end(self, found: list[Row], *, is_first: bool) -> None:
        self._repeated = self._repeated + 1 if found == self._visits and not is_first else 0
        self._visits = found
        if self._repeated == MAX_REPEATED:
            raise UnexpectedAnswer("Shlink sends the same visits again and again. Their list has no end.")

    async def _list(self, page: int, size: int) -> Any:
        return await self._client.get(
            "/rest/v3/short-urls", {"page": page, "itemsPerPage": size, "orderBy": "dateCreated-ASC"}
        )

    async def _with_rules(self, found: list[Row]) -> list[Row]:
        """Add `redirectRules` to each row. Versions before 4.3 do not say which links have any."""
        if not self._has_rules:
            return found
        answers: list[bool] = []
        """Of versions before 4.3."""

        async def with_rules(row: Row) -> Row:
            if not row.get("hasRedirectRules", "deviceLongUrls" not in row):
                return row
            try:
                path, domain = f"{_path(required_text(row, 'shortCode'))}/redirect-rules", text(row, "domain")
                answer = await self._client.get(path, {"domain": domain} if domain else None)
            except BadField:  # `_link` refuses the row
                return row
            except NotThere:  # the version has no rules, or the link was deleted meanwhile
                answer = None
            if "hasRedirectRules" not in row:
                answers.append(answer is not None)
            return row if answer is None else {**row, "redirectRules": rows(answer, "redirectRules")}

        asked = await ask_each(found, with_rules, at_once=AT_ONCE)
        self._has_rules = not answers or any(answers)  # some were deleted, but not all of a page
        return asked

    def _link(self, row: Row) -> SourceLink:
        meta, visits = nested(row, "meta"), nested(row, "visitsSummary")
        rules, lost_rules = _rules(row)
        address = self._address(row)
        return SourceLink(
            _source_id(row, address),
            address,
            required_text(row, "longUrl"),
            title=text(row, "title"),
            tags=names(row, "tags"),
            created_at=time(row, "dateCreated"),
            expires_at=time(meta, "validUntil"),
            clicks=integer(visits, "total") if visits else integer(row, "visitsCount"),
            routing=routing_data.routing(
                rules=[*_device_rules(row), *rules],
                starts_at=time(meta, "validSince"),
                click_limit=integer(meta, "maxVisits"),
            ),
            forwards_query=row.get("forwardQuery") is True,
            lost_rules=lost_rules,
            bot_clicks=integer(visits, "bots") or 0,
        )

    def _address(self, row: Row) -> Address:
        """Shlink may be installed below a path, which only `shortUrl` contains. The default domain is `null`."""
        if short_url := text(row, "shortUrl"):
            return address_of(short_url)
        domain = text(row, "domain")
        return Address(domain.lower() if domain else self._hostname, required_text(row, "shortCode"))


def _source_id(row: Row, address: Address) -> str:
    """The same code may stand on several domains, each of its own. The default domain cannot be asked for by name."""
    domain = text(row, "domain")
    return f"{domain or address.hostname}{'/' if domain else '//'}{required_text(row, 'shortCode')}"


def _domain_and_code(source_id: str) -> tuple[str | None, str]:
    domain, _, code = source_id.partition("/")
    return (None, code[1:]) if code.startswith("/") else (domain, code)


def _path(code: str) -> str:
    """Codes may have several segments, whose slashes Shlink takes literally."""
    return f"/rest/v3/short-urls/{quote(code)}"


def _pagination(answer: Any, name: str) -> Row:
    """Empty if the source sent none: then the page is the last one."""
    listed = answer.get(name) if isinstance(answer, dict) else None
    pagination = listed.get("pagination") if isinstance(listed, dict) else None
    return pagination if isinstance(pagination, dict) else {}


def _device_rules(row: Row) -> list[dict[str, Any]]:
    """Versions 3.5 to 3.7 have one URL for each kind of device instead of rules."""
    urls = nested(row, "deviceLongUrls")
    return [routing_data.rule(*DEVICES[device], url) for device in DEVICES if (url := text(urls, device))]


def _rules(row: Row) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rules in their order, and those that cannot be expressed here: a rule needs all its conditions."""
    rules, lost = [], []
    for rule in sorted(objects(row, "redirectRules"), key=lambda rule: integer(rule, "priority") or 0):
        given = objects(rule, "conditions")
        conditions = [condition for row in given if (condition := _condition(row))]
        if not given or len(conditions) < len(given):
            lost.append(f"a redirect rule by {', '.join(str(row.get('type')) for row in given) or 'nothing'}")
            continue
        name = ", ".join(value or condition["name"] for condition in conditions for value in condition["values"])
        rules.append({"name": name, "conditions": conditions, "destination_url": required_text(rule, "longUrl")})
    return rules, lost


def _condition(row: Row) -> dict[str, Any] | None:
    kind, value = text(row, "type"), text(row, "matchValue") or ""
    match kind:
        case "device" if value.lower() in DEVICES:
            name, values = DEVICES[value.lower()]
            return {"type": name, "operator": "in", "values": values}
        case "language" if value.isalpha():  # else with a country
            return {"type": "language", "operator": "in", "values": [value.lower()]}
        case "geolocation-country-code":
            return {"type": "country", "operator": "in", "values": [value.upper()]}
        case "query-param" | "query":
            return {"type": "query", "operator": "in", "name": required_text(row, "matchKey"), "values": [value]}
        case "valueless-query-param":
            return {"type": "query", "operator": "in", "name": required_text(row, "matchKey"), "values": [""]}
        case _:
            return None


def _click(source_id: str, row: Row) -> SourceClick | None:
    """None for a visit without a time. Raises BadField."""
    at, location = time(row, "date"), nested(row, "visitLocation")
    if at is None:
        return None
    return SourceClick(
        source_id,
        at,
        referrer=text(row, "referer"),
        user_agent=text(row, "userAgent"),
        country=text(location, "countryCode"),
        is_bot=bool(row.get("potentialBot")),
    )
