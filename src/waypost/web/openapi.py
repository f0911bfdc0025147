"""What the OpenAPI document tells of an endpoint beside what its signature says. Describes; no request comes here."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field

from waypost.auth import REQUESTS_PER_MINUTE, Scope
from waypost.kit.pagination import DEFAULT_PER_PAGE, MAX_PER_PAGE
from waypost.web.envelope import BARE, CODES, STATUSES

T = TypeVar("T")
Json = dict[str, Any]


class One(BaseModel, Generic[T]):
    data: T


class PageLinks(BaseModel):
    first: str
    last: str
    prev: str | None
    next: str | None


class PageMeta(BaseModel):
    current_page: int
    first: int | None = Field(alias="from")
    last_page: int
    path: str
    per_page: int
    to: int | None
    total: int


class Page(BaseModel, Generic[T]):
    data: list[T]
    links: PageLinks
    meta: PageMeta


class Fault(BaseModel):
    code: str = Field(json_schema_extra={"enum": [*CODES.values(), "http_error"]})
    message: str


class FieldFaults(Fault):
    errors: dict[str, list[str]]


class Refusal(BaseModel):
    error: Fault


class InvalidRefusal(BaseModel):
    error: FieldFaults


class BareRefusal(BaseModel):
    message: str


_MEANINGS: Mapping[int | str, str] = {
    # as code what is quoted: descriptions are Markdown, where <key> is an element and disappears
    **{status: (kind.__doc__ or "").partition("\n")[0].replace('"', "`") for kind, status in STATUSES.items()},
    "default": "Any other failure.",
}
_WHOLE = {"type": "integer"}
_BUDGET = {
    "X-RateLimit-Limit": {"description": "Requests per minute", "schema": _WHOLE},
    "X-RateLimit-Remaining": {"description": "Requests left in this minute", "schema": _WHOLE},
}
_RETRY = {"Retry-After": {"description": "Seconds until a request will be taken", "schema": _WHOLE}}

SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key; the roles asked for are its scopes."}
}


_GROUPS = {
    "links": ("Links", "Make short links, find them again, change where they lead, switch them off and delete them."),
    "qrcodes": ("QR codes", "Each link has one: set how it looks, and show its picture by a signed URL."),
    "clicks": ("Clicks and statistics", "Who followed links, one by one and in figures: of one link or of all."),
    "domains": ("Domains", "Put links on names of your own: register one, set its DNS record, have it verified."),
    "pixels": ("Pixels", "Advertising pixels that links fire, and what became of the events sent to their platforms."),
    "webhooks": (
        "Webhooks",
        "Have your own server told when something happens, signed, and repeated until it is taken.",
    ),
    "keys": ("API keys", "Which keys the account has. They are made and revoked in the dashboard."),
    "account": ("Account", "Whose key this is, what its plan allows and what the key may do."),
}
GROUPS = [{"name": name, "x-displayName": told, "description": why} for name, (told, why) in _GROUPS.items()]
"""In the order in which they are shown."""
GROUP_OF = {"stats_of_account": "clicks", "stats_of_link": "clicks", "account_tokens": "keys"}
"""Of the operations that stand elsewhere than their room."""

ABOUT = f"""Everything the dashboard does with links, codes, domains, pixels and webhooks, for programs.

Send a key as `Authorization: Bearer <key>`; it is made under **API** in the dashboard and has only the scopes it was
given. Bodies are JSON, or `multipart/form-data` where a file is sent. Lists come in pages.

Each key may ask {REQUESTS_PER_MINUTE} times in any minute; what is over it is answered with 429, and `Retry-After` says
how long to wait. A refusal tells its reason in `error.code` and `error.message`, and in `error.errors` what is wrong
with which field.
"""


def refusals(*statuses: int | str) -> dict[int | str, Json]:
    """For `responses=` of a route or an application."""
    told: dict[int | str, Json] = {
        status: {"description": _MEANINGS[status], "model": _model(status)} for status in statuses
    }
    if 429 in told:
        told[429]["headers"] = _RETRY
    return told


def _model(status: int | str) -> type[BaseModel]:
    if status in BARE:
        return BareRefusal
    return InvalidRefusal if status == 422 else Refusal


# naming a default also keeps FastAPI from telling of a 422 wherever a path has a parameter
EVERYWHERE = refusals(401, 402, 429, "default")


def endpoint(
    summary: str,
    description: str = "",
    *,
    scope: Scope | None = None,
    status: int = 200,
    shows: Any = None,
    takes: Json | None = None,
    query: Sequence[Json] = (),
    refuses: Collection[int] = (),
) -> dict[str, Any]:
    """Keyword arguments for a route's decorator. `shows` is the type of a success's body, `takes` a `request_body`."""
    extra: Json = {"security": [{"bearer": [scope] if scope else []}]}
    if takes:
        extra["requestBody"] = takes
    if query:
        extra["parameters"] = list(query)
    refused = refusals(*((403,) if scope else ()), *refuses)
    return {
        "summary": summary,
        "description": description,
        "status_code": status,
        "response_model": shows,
        "responses": {status: {"headers": _BUDGET}, **refused},
        "openapi_extra": extra,
    }


def parameter(name: str, schema: Json, description: str) -> Json:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


PAGING = (
    parameter("page", {**_WHOLE, "minimum": 1, "default": 1}, "Which page"),
    parameter(
        "per_page",
        {**_WHOLE, "minimum": 1, "default": DEFAULT_PER_PAGE},
        f"Entries on a page; more than {MAX_PER_PAGE} is read as {MAX_PER_PAGE}",
    ),
)
