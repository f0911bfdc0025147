"""JSON endpoints for many links at a time."""

from dataclasses import replace

from starlette.responses import Response

from waypost.accounts import ApiCaller, Caller
from waypost.kit.errors import Problems
from waypost.kit.ids import parse_id
from waypost.resources.links.bulk import service as bulk
from waypost.resources.links.bulk.schemas import (
    ChangedRowsJson,
    CreatedRowJson,
    CreatedRowsJson,
    DeletedRowsJson,
    LinkChanges,
    LinkIds,
    NewLinks,
)
from waypost.resources.links.deps import Deps
from waypost.resources.links.model import Link
from waypost.resources.links.schemas import to_json
from waypost.web import Endpoint, counted, read_bulk

_PATH = "/links/bulk"


async def bulk_create(deps: Deps, caller: ApiCaller, new: NewLinks, problems: Problems) -> Response:
    """Each entry succeeds or fails alone. An entry with the status `retry` did not get its turn within 30 seconds,
    because checks of destinations took too long: send it again. Counts as one request.
    """
    new.check_required(problems)
    problems.raise_if_any()
    request_id = caller.claim.request_id if caller.claim else None
    by_row = replace(caller, claim=None)  # each row is a transaction
    results = await bulk.create(deps, by_row, new.links or [], problems, request_id)
    rows = [_created_row(deps, index, result) for index, result in enumerate(results)]
    return counted(rows, "created", "invalid")


async def bulk_update(deps: Deps, caller: Caller, changes: LinkChanges, problems: Problems) -> Response:
    """Changes up to 100 links in the same way. A value that no link could have is refused with 422 on
    `set.<field>`, and nothing changes. Counts as one request.
    """
    changes.check_required(problems)
    ids = changes.ids or []
    results = await bulk.change(deps, caller, list(map(parse_id, ids)), changes.set or {}, problems)
    rows = [
        {"id": id_, "status": result} if isinstance(result, str) else {"id": id_, "status": "invalid", "errors": result}
        for id_, result in zip(ids, results, strict=True)
    ]
    return counted(rows, "updated", "unchanged", "not_found", "invalid")


async def bulk_delete(deps: Deps, caller: Caller, sent: LinkIds, problems: Problems) -> Response:
    """The short URLs return 404 immediately. Only this account can use the slugs again. Counts as one request."""
    sent.check_required(problems)
    problems.raise_if_any()
    ids = sent.ids or []
    results = await bulk.delete(deps, caller, list(map(parse_id, ids)))
    statuses = ("deleted" if is_deleted else "not_found" for is_deleted in results)
    rows = [{"id": id_, "status": status} for id_, status in zip(ids, statuses, strict=True)]
    return counted(rows, "deleted", "not_found")


def _created_row(deps: Deps, index: int, result: bulk.CreateResult) -> CreatedRowJson:
    if result is None:
        return {"index": index, "status": "retry"}
    if isinstance(result, Link):
        return {"index": index, "status": "created", "link": to_json(result, deps)}
    return {"index": index, "status": "invalid", "errors": result}


ENDPOINTS = [
    Endpoint(
        "POST",
        _PATH,
        bulk_create,
        "Create many links",
        "links:write",
        CreatedRowsJson,
        body=NewLinks,
        read=read_bulk,
        checks_destination=True,
    ),
    Endpoint(
        "PATCH",
        _PATH,
        bulk_update,
        "Change many links",
        "links:write",
        ChangedRowsJson,
        body=LinkChanges,
        read=read_bulk,
    ),
    Endpoint(
        "DELETE", _PATH, bulk_delete, "Delete many links", "links:write", DeletedRowsJson, body=LinkIds, read=read_bulk
    ),
]
