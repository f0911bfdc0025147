"""Query parameters, including those of pagination, and the paginated response."""

from typing import Annotated, Generic, TypeVar
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from typing_extensions import TypedDict

from waypost.kit.docs import doc
from waypost.kit.errors import Problems
from waypost.kit.fields import UriText
from waypost.kit.pagination import DEFAULT_PER_PAGE, MAX_PER_PAGE, Page, PageRequest
from waypost.web.envelope import JsonResponse

T = TypeVar("T")

_MAX_PAGE = 2**53 - 1
"""No list has it, every JSON parser reads the number, and its offset fits the databases' 64 bits."""
_MAX_LINK = 3_000
"""Characters of the header `Link`: proxies refuse responses with long headers. The body has the same URLs."""


class PageLinks(TypedDict):
    first: Annotated[UriText, doc("URL of the first page", "https://go.example.com/api/v1/links?page=1")]
    last: Annotated[UriText, doc("URL of the last page", "https://go.example.com/api/v1/links?page=9")]
    prev: Annotated[
        UriText | None, doc("URL of the previous page; null on the first", "https://go.example.com/api/v1/links?page=1")
    ]
    next: Annotated[
        UriText | None, doc("URL of the next page; null on the last", "https://go.example.com/api/v1/links?page=3")
    ]


_POSITION = "Position of the first item of this page, from 1; null if the page is empty"
_Position = TypedDict("_Position", {"from": Annotated[int | None, doc(_POSITION, 16)]})


class PageMeta(_Position):
    current_page: Annotated[int, doc("Number of this page", 2)]
    last_page: Annotated[int, doc("Number of the last page", 9)]
    path: Annotated[UriText, doc("URL of the list, without parameters", "https://go.example.com/api/v1/links")]
    per_page: Annotated[int, doc("Items per page", 15)]
    to: Annotated[int | None, doc("Position of the last item of this page; null if the page is empty", 30)]
    total: Annotated[int, doc("Number of items on all pages", 130)]


class Paginated(TypedDict, Generic[T]):
    data: Annotated[list[T], doc("The result")]
    links: Annotated[PageLinks, doc("URLs of other pages")]
    meta: Annotated[PageMeta, doc("Position in the list")]


def read_query(request: Request) -> QueryParams:
    """Read the query. An empty value means that the parameter is absent, like an untouched form field."""
    return QueryParams([(name, text) for name, text in request.query_params.multi_items() if text])


def require_pagination(request: Request) -> PageRequest:
    """Read the page of a list. Raises Invalid on `page`, `per_page` or both."""
    problems = Problems()
    page = read_pagination(request, problems)
    problems.raise_if_any()
    return page


def read_pagination(request: Request, problems: Problems) -> PageRequest:
    """Read the page of a list, and add problems with it to `problems`."""
    page = _natural(request, "page", 1, problems)
    per_page = _natural(request, "per_page", DEFAULT_PER_PAGE, problems)
    return PageRequest(min(page, _MAX_PAGE), min(per_page, MAX_PER_PAGE))


def paginated(page: Page[T], request: Request, base_url: str) -> JsonResponse:
    """Return a page as JSON. URLs start with the base URL, never with the Host header, and keep other parameters."""
    current, last = page.request.page, page.last_page
    start = page.request.offset + 1
    path = base_url + quote(request.scope["path"])
    others = [
        (name, page.request.per_page if name == "per_page" else text)
        for name, text in read_query(request).multi_items()
        if name != "page"
    ]

    def url(number: int) -> str:
        return f"{path}?{urlencode([*others, ('page', number)])}"

    links: PageLinks = {
        "first": url(1),
        "last": url(last),
        "prev": url(min(current - 1, last)) if current > 1 else None,
        "next": url(current + 1) if current < last else None,
    }
    content: Paginated[T] = {
        "data": list(page.items),
        "links": links,
        "meta": {
            "current_page": current,
            "from": start if page.items else None,
            "last_page": last,
            "path": path,
            "per_page": page.request.per_page,
            "to": start + len(page.items) - 1 if page.items else None,
            "total": page.total,
        },
    }
    header = ", ".join(f'<{target}>; rel="{relation}"' for relation, target in links.items() if target)
    return JsonResponse(content, headers={"Link": header} if len(header) <= _MAX_LINK else None)


def _natural(request: Request, name: str, default: int, problems: Problems) -> int:
    text = read_query(request).get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or not text.strip("0"):
        problems.add(name, "This must be an integer of at least 1.")
        return default
    return int(text.lstrip("0")[:17])  # longer ones are beyond every page; converting all digits is quadratic
