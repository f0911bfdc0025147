"""What each tool does: calls of the API, and a short answer."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from waypost.kit.errors import Forbidden
from waypost.kit.ids import parse_id
from waypost.mcp import results
from waypost.mcp.api_calls import ApiCalls, FindLink, ToolError
from waypost.mcp.arguments import find_problems, read_address
from waypost.mcp.definitions import DEFAULT_ROWS, DEFINITIONS, MAX_ROWS, Definition, ToolName

Arguments = Mapping[str, Any]
_NAMES = {"link", "external_id"}
"""Arguments that name a link."""
_STYLE = {"foreground", "background", "level", "style", "size", "margin", "width_mm"}
_STYLE |= {"logo", "logo_size", "frame", "frame_text"}
"""Fields of a QR code's style."""


class ToolAnswer(NamedTuple):
    result: results.JsonObject
    image: bytes | None = None
    """A PNG."""


class Tools:
    """The tools of one request."""

    def __init__(self, api: ApiCalls, find_link: FindLink, *, base_url: str, shared_domain: str) -> None:
        self._api = api
        self._find_link = find_link
        self._base_url = base_url
        self._scheme = urlsplit(base_url).scheme
        self._shared_domain = shared_domain
        self._functions: Mapping[ToolName, Callable[[Arguments], Awaitable[ToolAnswer]]] = {
            "find_links": self._find_links,
            "get_link": self._get_link,
            "create_link": self._create_link,
            "update_link": self._update_link,
            "delete_link": self._delete_link,
            "bulk_create_links": self._bulk_create_links,
            "link_stats": self._link_stats,
            "list_clicks": self._list_clicks,
            "qr_code": self._qr_code,
            "list_domains": self._list_domains,
        }

    def usable(self) -> list[Definition]:
        """Return the tools that the key's scopes and the role of its maker allow."""
        return [each for each in DEFINITIONS if self._find_refusal(each) is None]

    async def call(self, definition: Definition, arguments: Arguments) -> ToolAnswer:
        """Raises ToolError."""
        if refusal := self._find_refusal(definition):
            raise ToolError(refusal)
        if problems := find_problems(definition, arguments):
            raise ToolError("\n".join(problems))
        given = {name: value for name, value in arguments.items() if value is not None}
        return await self._functions[definition.name](given)

    def _find_refusal(self, definition: Definition) -> str | None:
        try:
            self._api.require_scope(definition.operation)
        except Forbidden as error:
            return error.message
        return None

    async def _find_links(self, given: Arguments) -> ToolAnswer:
        answer = await self._api.get("links_list", **_paging(given))
        links = [results.listed_link(each, self._scheme) for each in answer["data"]]
        return ToolAnswer(results.as_data(results.page("links", links, answer["meta"])))

    async def _get_link(self, given: Arguments) -> ToolAnswer:
        link = await self._id(given)
        answer = await self._api.get("links_get", link)
        options, routing = [await self._api.get(f"links_get_{name}", link) for name in ("options", "routing")]
        return self._whole_link(answer, options=options["data"], routing=routing["data"])

    async def _create_link(self, given: Arguments) -> ToolAnswer:
        return self._whole_link(await self._api.send("links_create", body=given))

    async def _update_link(self, given: Arguments) -> ToolAnswer:
        changes = {name: None if value == "" else value for name, value in given.items() if name not in _NAMES}
        if not changes:
            raise ToolError("Nothing to change: name at least one value besides the link.")
        if len(_NAMES & given.keys()) != 1:
            raise ToolError("Name the link by either link or external_id.")
        if "link" in given:
            return self._whole_link(await self._api.send("links_update", await self._id(given), body=changes))
        if not given["external_id"]:
            raise ToolError("external_id: This must not be empty.")
        status = {"status": changes.pop("status")} if "status" in changes else {}
        answer = await self._api.send("links_upsert", given["external_id"], body=changes)
        if status:  # which PUT does not take
            answer |= await self._api.send("links_update", answer["data"]["id"], body=status)
        return self._whole_link(answer)

    async def _delete_link(self, given: Arguments) -> ToolAnswer:
        await self._api.send("links_delete", await self._id(given))
        return ToolAnswer({"deleted": given["link"]})

    async def _bulk_create_links(self, given: Arguments) -> ToolAnswer:
        answer = await self._api.send("links_bulk_create", body=given)
        return ToolAnswer(results.created_rows(answer, self._scheme))

    async def _link_stats(self, given: Arguments) -> ToolAnswer:
        query = _filtered({name: value for name, value in given.items() if name != "link"})
        if "link" in given:
            answer = await self._api.get("links_stats", await self._id(given), **query)
            return ToolAnswer(results.as_data(results.statistics(answer["data"])))
        stats = (await self._api.get("stats_get", **query))["data"]
        return ToolAnswer(results.as_data({**results.statistics(stats), **results.top_links(stats, self._scheme)}))

    async def _list_clicks(self, given: Arguments) -> ToolAnswer:
        of_link = ("links_clicks", await self._id(given)) if "link" in given else ("clicks_list",)
        answer = await self._api.get(*of_link, **_filtered(_paging(given)))
        return ToolAnswer(
            results.as_data(results.page("clicks", list(map(results.click, answer["data"])), answer["meta"]))
        )

    async def _qr_code(self, given: Arguments) -> ToolAnswer:
        link = await self._id(given)
        code = (await self._api.get("qrcodes_get", link))["data"]
        if style := given.get("style"):
            kept = {name: code[name] for name in _STYLE if name != "level" or not code["logo"]}  # a logo raises it
            code = (await self._api.send("qrcodes_set_style", link, body=kept | style))["data"]
        names = ("image_url", "svg_url", "pdf_url", "size", "scans", "warnings")
        image = await self._api.download(code["image_url"]) if given.get("include_image") else None
        return ToolAnswer({name: code[name] for name in names if code[name] != []}, image)

    async def _list_domains(self, given: Arguments) -> ToolAnswer:
        answer = await self._api.get("domains_list", **_paging(given))
        page = results.page("domains", list(map(results.domain, answer["data"])), answer["meta"])
        return ToolAnswer(results.as_data({"shared_domain": self._shared_domain, **page}))

    def _whole_link(self, answer: Any, **more: results.JsonObject) -> ToolAnswer:
        link = results.whole_link(answer["data"], self._base_url, more)
        return ToolAnswer(results.as_data(link | results.unchecked(answer)))

    async def _id(self, given: Arguments) -> str:
        """Return the id of the link that is named. Raises ToolError.

        Another account's link is found, too; the API answers as if it did not exist.
        """
        name: str = given["link"].strip()
        if parse_id(name):
            return name
        address = read_address(name, self._shared_domain)
        found = await self._find_link(self._api.caller.account.id, *address) if address else None
        if found is None:
            raise ToolError(f"There is no link “{results.shorten(name)}”. Search with find_links.")
        return str(found)


def _filtered(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the query with the filters as parameters of their own. The API knows their names."""
    filters = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.get("filters", {}).items()
    }
    return {**filters, **{name: value for name, value in query.items() if name != "filters"}}


def _paging(given: Arguments) -> dict[str, Any]:
    """Return the query of a list."""
    query = {name: value for name, value in given.items() if name not in {"link", "limit"}}
    return {**query, "per_page": min(max(given.get("limit", DEFAULT_ROWS), 1), MAX_ROWS)}
