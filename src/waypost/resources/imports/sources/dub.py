"""Dub: the links of a workspace, and its clicks."""

from waypost.kit.clock import Clock, now, timestamp
from waypost.outbound import Outbound
from waypost.resources.domains.names import MAX_LABEL
from waypost.resources.imports.client import SourceClient, Wait
from waypost.resources.imports.json_fields import (
    Row,
    integer,
    names,
    nested,
    objects,
    read_clicks,
    read_links,
    required_text,
    rows,
    sent_text,
    text,
    time,
)
from waypost.resources.imports.routing_data import country_rules, routing, rule, variant
from waypost.resources.imports.source import (
    Address,
    ClickPage,
    LinkPage,
    SourceClick,
    SourceError,
    SourceLink,
    SourceOptions,
    UnexpectedAnswer,
    WrongToken,
)

ORIGIN = "https://api.dub.co"
PAGE, CLICK_PAGE = 100, 1_000
ROOT = "_root"
"""The key of a domain's own redirect, which is not a link."""
FIRST_CLICK = "2022-01-01T00:00:00.000000Z"
"""Before Dub existed."""
PLATFORMS = {"ios": "iOS", "android": "Android"}


def open_source(options: SourceOptions, outbound: Outbound, wait: Wait) -> "Dub":
    return Dub(outbound, options.required_token(), wait, options.url or ORIGIN)


class Dub:
    """The cursor of links is the last one's id, that of clicks `PAGE END`: clicks after END are not read."""

    name = "dub"
    ignores_case = True

    def __init__(self, outbound: Outbound, token: str, wait: Wait, origin: str, clock: Clock = now) -> None:
        self._client = SourceClient(outbound, origin, headers={"Authorization": f"Bearer {token}"}, wait=wait)
        self._clock = clock
        self._clicks_before: list[Row] | None = None

    async def check(self) -> None:
        await self._client.get("/links", {"pageSize": 1})

    async def link_page(self, cursor: str | None) -> LinkPage:
        query: dict[str, str | int] = {"pageSize": PAGE, "showArchived": "true"}
        found = rows(await self._client.get("/links", query | ({"startingAfter": cursor} if cursor else {})))
        next_cursor = required_text(found[-1], "id") if found else None
        if cursor and next_cursor == cursor:
            raise UnexpectedAnswer("Dub sends the same page of links again and again. Try again later.")
        links, refused = read_links(found, "id", self._link)
        return LinkPage(links, next_cursor, refused)

    async def click_page(self, cursor: str | None) -> ClickPage:
        page, _, end = (cursor or f"1 {timestamp(self._clock())}").partition(" ")
        query: dict[str, str | int] = {
            "event": "clicks",
            "page": page,
            "limit": CLICK_PAGE,
            "start": FIRST_CLICK,
            "end": end,
            "sortOrder": "asc",
        }
        try:
            found = rows(await self._client.get("/events", query))
        except WrongToken:
            raise SourceError("Dub refuses to list clicks: its plan or the key's permissions lack events.") from None
        if found and found == self._clicks_before:
            raise UnexpectedAnswer("Dub sends the same page of clicks again and again. Try again later.")
        self._clicks_before = found
        return read_clicks(found, _click, f"{int(page) + 1} {end}" if found else None)

    def _link(self, row: Row) -> SourceLink:
        key = required_text(row, "key")
        destination_url = required_text(row, "url")
        geo = nested(row, "geo")
        test_ends_at = time(row, "testCompletedAt")
        is_tested = test_ends_at is not None and test_ends_at > self._clock()
        return SourceLink(
            required_text(row, "id"),
            Address(text(row, "domain"), _path(key)),
            destination_url,
            title=text(row, "title"),
            tags=names(row, "tags", "name"),
            created_at=time(row, "createdAt"),
            is_enabled=not row.get("disabledAt"),
            expires_at=time(row, "expiresAt"),
            clicks=integer(row, "clicks"),
            routing=routing(
                rules=[
                    *(rule("platform", [name], url) for key, name in PLATFORMS.items() if (url := text(row, key))),
                    *country_rules({country: required_text(geo, country) for country in geo}),
                ],
                variants=_variants(row, destination_url) if is_tested else (),
                password=text(row, "password"),
                fallback_url=text(row, "expiredUrl"),
            ),
            forwards_query=True,  # of every link
            note=sent_text(row, "comments"),
            external_id=sent_text(row, "externalId"),
            left_out=[
                *(["preview text and image"] if row.get("proxy") else []),
                *(["cloaking"] if row.get("rewrite") else []),
                *([f"the end of the A/B test on {test_ends_at:%Y-%m-%d}"] if is_tested else []),
            ],
        )


def _variants(row: Row, destination_url: str) -> list[dict[str, object]]:
    """The destination itself is one of the variants, and gets what is left."""
    others = [each for each in objects(row, "testVariants") if each.get("url") != destination_url]
    return [
        variant(f"Variant {number}", required_text(each, "url"), integer(each, "percentage") or 0)
        for number, each in enumerate(others, 1)
    ]


def _path(key: str) -> str:
    """Other scripts than Latin are kept as in host names, with Punycode. A longer label takes minutes to decode."""
    if key == ROOT:
        return ""
    try:
        return ".".join(
            label[4:].encode().decode("punycode") if label.startswith("xn--") and len(label) <= MAX_LABEL else label
            for label in key.split(".")
        )
    except UnicodeError:
        return key


def _click(row: Row) -> SourceClick | None:
    """Its own fields are in the row, and in newer versions in `click`. None without link and time. Raises BadField."""
    fields = {**row, **nested(row, "click")}
    link_id = text(nested(row, "link"), "id") or text(fields, "link_id")
    at = time(row, "timestamp")
    if not link_id or not at:
        return None
    country = text(fields, "country") or ""
    return SourceClick(
        link_id,
        at,
        source_id=text(fields, "id") or text(fields, "click_id"),
        referrer=_referrer(fields),
        user_agent=text(fields, "ua"),
        browser=text(fields, "browser"),
        platform=text(fields, "os"),
        device=text(fields, "device"),
        country=country if len(country) == 2 else None,  # else `Unknown`
        ip=text(fields, "ip"),
        is_qr_scan=bool(fields.get("qr")),
    )


def _referrer(fields: Row) -> str | None:
    """A host name, or `(direct)`."""
    referrer = text(fields, "refererUrl") or text(fields, "referer")
    if referrer is None or referrer == "(direct)":
        return None
    return referrer if "://" in referrer else f"https://{referrer}"
