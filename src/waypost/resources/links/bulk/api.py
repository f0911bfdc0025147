"""JSON endpoints for many links at a time."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

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
from waypost.resources.links.check_header import CHECKED, with_check
from waypost.resources.links.deps import Deps
from waypost.resources.links.model import Link
from waypost.resources.links.schemas import to_json
from waypost.web import Guard, ParsedBody, counted, new_router, read_bulk

NewLinksBody = Annotated[tuple[NewLinks, Problems], Depends(ParsedBody(NewLinks, read_bulk, is_form=False))]
LinkChangesBody = Annotated[tuple[LinkChanges, Problems], Depends(ParsedBody(LinkChanges, read_bulk, is_form=False))]
LinkIdsBody = Annotated[tuple[LinkIds, Problems], Depends(ParsedBody(LinkIds, read_bulk, is_form=False))]


def endpoints(deps: Deps, guard: Guard) -> APIRouter:
    router = new_router("links", "/links/bulk")
    Writer = Annotated[Caller, Depends(guard.allow("links:write"))]  # noqa: N806  # a type
    ApiWriter = Annotated[ApiCaller, Depends(guard.allow("links:write"))]  # noqa: N806  # a type

    def created_row(index: int, result: bulk.CreateResult) -> CreatedRowJson:
        if result is None:
            return {"index": index, "status": "retry"}
        if isinstance(result, Link):
            return {"index": index, "status": "created", "link": to_json(result, deps)}
        return {"index": index, "status": "invalid", "errors": result}

    @router.post(
        "", name="bulk_create", summary="Create many links", response_model=CreatedRowsJson, openapi_extra=CHECKED
    )
    async def create_many(caller: ApiWriter, body: NewLinksBody) -> Response:
        """Each entry succeeds or fails alone. An entry with the status `retry` did not get its turn within 30 seconds,
        because checks of destinations took too long: send it again. Counts as one request.
        """
        new, problems = body
        new.check_required(problems)
        problems.raise_if_any()
        results = await bulk.create(deps, caller, new.links or [], problems, caller.request_id)
        rows = [created_row(index, result) for index, result in enumerate(results)]
        return with_check(counted(rows, "created", "invalid"), problems)

    @router.patch("", name="bulk_update", summary="Change many links", response_model=ChangedRowsJson)
    async def change_many(caller: Writer, body: LinkChangesBody) -> Response:
        """Changes up to 100 links in the same way. A value that no link could have is refused with 422 on
        `set.<field>`, and nothing changes. Counts as one request.
        """
        changes, problems = body
        changes.check_required(problems)
        ids = changes.ids or []
        results = await bulk.change(deps, caller, list(map(parse_id, ids)), changes.set or {}, problems)
        rows = [
            {"id": id_, "status": result}
            if isinstance(result, str)
            else {"id": id_, "status": "invalid", "errors": result}
            for id_, result in zip(ids, results, strict=True)
        ]
        return counted(rows, "updated", "unchanged", "not_found", "invalid")

    @router.delete("", name="bulk_delete", summary="Delete many links", response_model=DeletedRowsJson)
    async def delete_many(caller: Writer, body: LinkIdsBody) -> Response:
        """The short URLs return 404 immediately. Only this account can use the slugs again. Counts as one request."""
        sent, problems = body
        sent.check_required(problems)
        problems.raise_if_any()
        ids = sent.ids or []
        results = await bulk.delete(deps, caller, list(map(parse_id, ids)))
        statuses = ("deleted" if is_deleted else "not_found" for is_deleted in results)
        rows = [{"id": id_, "status": status} for id_, status in zip(ids, statuses, strict=True)]
        return counted(rows, "deleted", "not_found")

    return router
