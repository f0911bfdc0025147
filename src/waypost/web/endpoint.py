"""Endpoints of the API, each declared once: what answers a request, and what the OpenAPI document says of it.

A request is checked in the order of the contract: path and method, caller, ids of the path, body. A package lists its
endpoints, and gives the list to the process together with the dependencies of their functions:

    async def create(deps: Deps, caller: Caller, new: NewPixel, problems: Problems) -> PixelJson:
        return to_json(await service.create(deps, caller, new, problems))

    ENDPOINTS = [
        Endpoint("POST", "/pixels", create, "Create a pixel", "pixels:write", Data[PixelJson], 201, body=NewPixel),
    ]
"""

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, cast
from urllib.parse import unquote
from zlib import crc32

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from waypost.accounts import ApiCaller
from waypost.accounts import Scope as KeyScope
from waypost.idempotency.service import HEADER
from waypost.kit.deprecation import Deprecation
from waypost.kit.errors import PreconditionFailed, Problems
from waypost.kit.fields import Body, parse
from waypost.kit.ids import require_id
from waypost.kit.pagination import Page
from waypost.kit.versions import ONLY_ABSENT, Expected, Version, is_current, read_if_absent, read_if_match
from waypost.web.body import Reader, has_no_content, read_fields
from waypost.web.envelope import DEPRECATIONS, DESTINATION_CHECK, data
from waypost.web.guard import Guard
from waypost.web.idempotency import read_key
from waypost.web.openapi.parameters import PAGING
from waypost.web.pagination import paginated, require_pagination

PREFIX = "/api/v1"
NO_ETAG = "This URL has no ETag. Send the request without If-Match."
_NAME = re.compile(r"{(\w+)}")
_CACHING = [(b"cache-control", b"private, no-cache"), (b"vary", b"Authorization")]
"""Of objects with an ETag: what a key may see is for nobody else, and a cache asks before it shows it again."""
_FIRST_VALUE = 4
"""Index of the first segment of a path that may vary. From there on, every second one may."""


@dataclass(frozen=True)
class Representation:
    """How an object is shown, and which version of it an ETag names."""

    to_json: Callable[..., Any]
    """Gets what an endpoint returned, its dependencies, the caller and what varies in the path."""
    version: Version
    rest: Callable[[Any, Any, Any], object] | None = None
    """What else the JSON shows, from the object, the dependencies and the caller: counters, results of jobs, what time
    changes, and what not every caller may see.
    """

    def etag(self, stored: Any, deps: Any, caller: ApiCaller) -> str:
        """Return the version and, after a hyphen, a tag of the rest. `If-Match` compares the version only."""
        rest = f"-{crc32(repr(self.rest(stored, deps, caller)).encode()):08x}" if self.rest else ""
        return f'"{self.version.of(stored)}{rest}"'


@dataclass(frozen=True)
class Endpoint:
    method: str
    path: str
    """Below `PREFIX`."""
    respond: Callable[..., Awaitable[Any]]
    """Gets, in this order: dependencies, the caller, the ids and texts of the path, the valid fields of the body and
    the problems of the others, and the request if there are `parameters` of the query: of `PAGING` alone, the
    `PageRequest`. Without a key: dependencies and the request. Its docstring is the description in the document.
    Returns the response, what `shows` is for, the JSON of the result, a `Page` of such, or None for no content.
    """
    summary: str
    scope: KeyScope | None
    """None: any valid key will do."""
    answer: Any = None
    """The model of the content."""
    status: int = 200
    """Of a success."""
    _: KW_ONLY
    may_create: bool = False
    """Whether the function may also answer 201 itself."""
    name: str = ""
    """Group and method in clients, if they are not the first word of the path and the name of the function."""
    tag: str = ""
    """Group in the document, if it is not the first word of the name."""
    needs_key: bool = True
    body: type[Body] | None = None
    read: Reader = read_fields
    parameters: Sequence[Mapping[str, Any]] = ()
    """Of the query, and those of the path that are not ids."""
    file: str = ""
    """Media type of the answer, if it is a file. It is sent while it is made, and never stored: nothing is changed."""
    csv: str = ""
    """An example of the answer to a request that accepts CSV, if there is one."""
    shows: Representation | None = None
    """Of the object at this path. Functions that change it call `caller.require_current` before."""
    creates: Version | None = None
    """Of what it creates or changes, if its path may name what does not exist: it checks `caller.expected` itself."""
    checks_destination: bool = False
    """Whether the answer has a header if a destination could not be reached, and was accepted nevertheless."""
    errors: Sequence[int] = ()
    """Those that do not follow from key, ids and body."""
    others: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """What the document says of answers without a model, by status."""
    deprecated: Deprecation | None = None
    """Parameters and fields have their own."""

    @property
    def operation(self) -> str:
        """Such as `links_create`, which is `links.create` in clients."""
        return self.name or f"{self.path.split('/')[1]}_{self.respond.__name__.rstrip('_')}"

    @property
    def needs_body(self) -> bool:
        """Otherwise no body is a body without fields, which in a `PUT` would remove everything."""
        return self.method == "PUT" or (self.body is not None and len(self.body.REQUIRED) > 0)

    @property
    def takes_idempotency_key(self) -> bool:
        return self.method == "POST" and self.needs_key and not self.file

    @property
    def is_change(self) -> bool:
        """Whether `If-Match` applies to it."""
        return self.needs_key and self.method in {"PATCH", "PUT", "DELETE"}

    @property
    def is_conditional(self) -> bool:
        """Whether it reads `If-Match`, as a `POST` does that changes the object at its path."""
        return self.is_change or (self.method == "POST" and self.shows is not None)

    @property
    def changes_version(self) -> bool:
        """Whether `If-Match` can be one of an object."""
        return self.is_conditional and bool(self.shows or self.creates)

    @property
    def methods(self) -> Sequence[str]:
        """Browsers and proxies also ask for the headers of what needs no key."""
        return (self.method,) if self.needs_key else (self.method, "HEAD")

    @property
    def names(self) -> list[str]:
        """Names of the segments of the path that vary."""
        return _NAME.findall(self.path)


class EventDocs(NamedTuple):
    """An event that webhooks receive, for the OpenAPI document."""

    type: str
    model: Any
    """Of the body of the request."""
    description: str
    changes: Mapping[str, Any] = {}
    """Of `data` in the example, compared with that of its model."""


Group = tuple[Any, Sequence[Endpoint]]
"""The dependencies of functions, and the endpoints that these respond to."""


class Endpoints(NamedTuple):
    """The HTTP endpoints of one package, and its events."""

    api: Sequence[Group] = ()
    pages: Sequence[BaseRoute] = ()
    events: Sequence[EventDocs] = ()
    routes: Sequence[BaseRoute] = ()
    """Beside the API and the dashboard, such as those for other programs of the operator."""


class _Row(NamedTuple):
    endpoint: Endpoint
    deps: Any
    names: list[str]
    """Of what varies in the path."""
    texts: Collection[str]
    """Those that are no ids. One that needs a key is alone, and last: any text but an empty one, slashes included."""
    has_deprecated: bool
    """Whether a request may use something deprecated."""


class EndpointTable(BaseRoute):
    """All endpoints, as one route: a dictionary finds the endpoint of a request."""

    def __init__(self, guard: Guard, groups: Sequence[Group]) -> None:
        self.endpoints = [endpoint for _, endpoints in groups for endpoint in endpoints]
        self._guard = guard
        self._rows: dict[str | tuple[str, ...], dict[str, _Row]] = defaultdict(dict)
        """By path, by what is before the text at its end, or by its segments where ids vary, which are empty then; and
        by method.
        """
        for deps, endpoints in groups:
            for endpoint in endpoints:
                path, names = PREFIX + endpoint.path, endpoint.names
                texts = {each["name"] for each in endpoint.parameters if each["in"] == "path"}
                blank, has_ids = _NAME.sub("", path), {*names} > texts
                methods = self._rows[tuple(blank.split("/")) if has_ids else (blank,) if texts else path]
                has_deprecated = any(_deprecated(endpoint)) or any(endpoint.body.deprecated() if endpoint.body else ())
                row = _Row(endpoint, deps, names, texts, has_deprecated)
                methods |= dict.fromkeys(endpoint.methods, row)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        found = list(self._find(scope["path"], scope["raw_path"])) if scope["type"] == "http" else []
        for methods, values in found:
            if row := methods.get(scope["method"]):
                return Match.FULL, {"endpoint": row, "path_params": dict(zip(row.names, values, strict=True))}
        return (Match.PARTIAL, {"endpoint": None}) if found else (Match.NONE, {})

    def _find(self, path: str, raw_path: bytes) -> Iterator[tuple[dict[str, _Row], Sequence[str]]]:
        """Yield what the path could be: `/links/bulk` is also that of a link."""
        if methods := self._rows.get(path):
            yield methods, ()
        before, _, text = raw_path.decode("latin-1").rpartition("/")
        if text and (methods := self._rows.get((f"{before}/",))):
            yield methods, [unquote(text, errors="surrogateescape")]
        segments = path.split("/")
        values = segments[_FIRST_VALUE::2]
        segments[_FIRST_VALUE::2] = [""] * len(values)
        if all(values) and (methods := self._rows.get(tuple(segments))):
            yield methods, values

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["endpoint"] is None:
            raise HTTPException(405)
        response = await self._respond(scope["endpoint"], Request(scope, receive, send))
        await response(scope, receive, send)

    async def _respond(self, row: _Row, request: Request) -> Response:
        endpoint = row.endpoint
        if row.has_deprecated:
            _announce(request, _deprecated(endpoint, request.query_params))
        if not endpoint.needs_key:
            self._guard.refuse_plain_http(request)
            return cast("Response", await endpoint.respond(row.deps, request))
        caller = await self._guard.check(request, endpoint.scope)
        if endpoint.takes_idempotency_key and HEADER in request.headers:
            return await self._guard.idempotency_keys.respond_once(request, caller, partial(_call, row, request))
        if endpoint.file and HEADER in request.headers:
            read_key(request)  # without effect, as nothing is changed
        return await _call(row, request, caller)


async def _call(row: _Row, request: Request, caller: ApiCaller) -> Response:
    endpoint, values = row.endpoint, request.path_params.items()
    named = [value if name in row.texts else require_id(value) for name, value in values]
    if endpoint.is_conditional:
        caller = replace(caller, expected=_read_expected(endpoint, request))
    arguments, problems = [row.deps, caller, *named], Problems()
    if endpoint.body:
        fields, problems = await _parse(row, endpoint.body, request)
        arguments += [fields, problems]
    if endpoint.parameters is PAGING:
        arguments.append(require_pagination(request))
    elif len(endpoint.parameters) > len(row.texts):
        arguments.append(request)
    result = await endpoint.respond(*arguments)
    response = _show(row, request, result, caller, *named)
    if not endpoint.may_create and response.status_code != 304:
        response.status_code = endpoint.status
    if endpoint.checks_destination and problems.reasons:
        response.headers[DESTINATION_CHECK] = "unreachable"
    return response


def _show(row: _Row, request: Request, result: Any, caller: ApiCaller, *named: object) -> Response:
    endpoint, shows = row.endpoint, row.endpoint.shows
    if result is None:
        return Response(status_code=204)
    if isinstance(result, Response):
        return result
    if isinstance(result, Page):
        return paginated(result, request, row.deps.base_url)
    if shows is None:
        return data(result)
    if endpoint.method not in {"GET", "PATCH"}:  # RFC 9110 forbids an ETag after a PUT of other than what is stored
        return data(shows.to_json(result, row.deps, caller, *named))
    etag = shows.etag(result, row.deps, caller)
    known = request.headers.getlist("if-none-match")
    is_known = known and endpoint.method == "GET" and is_current(known, etag)
    response = Response(status_code=304) if is_known else data(shows.to_json(result, row.deps, caller, *named))
    response.raw_headers += [(b"etag", etag.encode()), *_CACHING]
    return response


def _read_expected(endpoint: Endpoint, request: Request) -> Expected | None:
    """Read `If-Match` and `If-None-Match`. One that nothing would check is refused, so that nobody relies on it."""
    texts, none_texts = (request.headers.getlist(name) for name in ("if-match", "if-none-match"))
    version = endpoint.shows.version if endpoint.shows else endpoint.creates
    if none_texts and (texts or not endpoint.creates):
        raise PreconditionFailed(ONLY_ABSENT)
    if not texts and not none_texts:
        return None
    if version is None:
        raise PreconditionFailed(NO_ETAG)
    return read_if_match(texts, version) if texts else read_if_absent(none_texts, version)


async def _parse(row: _Row, model: type[Body], request: Request) -> tuple[Body, Problems]:
    # zero bytes that are declared as JSON are not JSON
    if not row.endpoint.needs_body and has_no_content(request) and "content-type" not in request.headers:
        return parse(model, {})
    sent = await row.endpoint.read(request)
    if row.has_deprecated:
        _announce(request, model.deprecated(sent))
    return parse(model, sent)


def _deprecated(endpoint: Endpoint, query: Collection[str] | None = None) -> Iterator[Deprecation]:
    """Yield what is deprecated of the endpoint and its parameters. `query`: the names that were sent; None is all."""
    if endpoint.deprecated:
        yield endpoint.deprecated
    for parameter in endpoint.parameters:
        if "deprecated" in parameter and (query is None or parameter["name"] in query):
            yield parameter["deprecated"]


def _announce(request: Request, used: Iterable[Deprecation]) -> None:
    """Give the response the headers of what the request uses."""
    if found := [*request.scope.get(DEPRECATIONS, ()), *used]:
        request.scope[DEPRECATIONS] = found
