"""The page that makes a file with the codes of the selected links: their images, or sheets of labels."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import InProgress, Invalid, Problems
from waypost.kit.fields import parse
from waypost.resources.links.bulk.selection_form import list_query, read_selection, selection_fields
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.file_response import archive_response, sheet_response
from waypost.resources.qrcodes.file_schemas import MAX_CODES, NewArchive, NewSheet
from waypost.resources.qrcodes.selection import TOO_MANY, find_first
from waypost.web.body import nest
from waypost.web.dashboard import Form, PageCall, Pages

_PATH = "/qrcodes"
_NUMBER = re.compile(r"[0-9]{1,9}|([0-9]{0,9}[.,][0-9]{1,9})")
_OWN_GRID = "own"


class FilePages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get(_PATH, self.new, "view"),
            self.form(f"{_PATH}/archive", self.archive, "view", self.show),
            self.form(f"{_PATH}/sheet", self.sheet, "view", self.show),
        ]

    async def new(self, call: PageCall) -> Response:
        query = nest((name, text or None) for name, text in call.request.query_params.multi_items())
        return await self._page(call, Form(query))

    async def show(self, call: PageCall) -> Response:
        """Show the form again that was refused."""
        return await self._page(call, call.form)

    async def archive(self, call: PageCall) -> Response:
        ids = await self._find_ids(call)
        new, problems = parse(NewArchive, _sent(call.form, "format", "name"))
        problems.raise_if_any()
        with _explained():
            return await archive_response(self._deps, call.session.account.id, ids, new)

    async def sheet(self, call: PageCall) -> Response:
        ids = await self._find_ids(call)
        fields = _numbers(_sent(call.form, "labels", "caption", "start", "copies"))
        if fields["labels"] == _OWN_GRID:
            sizes = call.form.fields.get("grid")
            fields |= {"labels": None, "grid": _numbers(sizes) if isinstance(sizes, Mapping) else {}}
        new, problems = parse(NewSheet, fields)
        grid = new.find_grid(problems)
        with _explained():
            return await sheet_response(self._deps, call.session.account.id, ids, new, grid, problems)

    async def _page(self, call: PageCall, form: Form) -> Response:
        ids = await self._select(call, form, Problems())
        context: dict[str, Any] = {"selected": selection_fields(form), "query": list_query(form)}
        context |= {"total": len(ids), "too_many": TOO_MANY if len(ids) > MAX_CODES else ""}
        return call.render("qrcodes/files.html", form, **context)

    async def _find_ids(self, call: PageCall) -> list[UUID]:
        """Raises Invalid."""
        problems = Problems()
        ids = await self._select(call, call.form, problems)
        if len(ids) > MAX_CODES:
            problems.add("body", TOO_MANY)
        problems.raise_if_any()
        return ids

    async def _select(self, call: PageCall, form: Form, problems: Problems) -> list[UUID]:
        selection = read_selection(form, self._deps.shared_domain, problems)
        if selection is None or selection.ids is not None:
            return list(selection.ids or ()) if selection else []
        return await find_first(self._deps, call.session.account.id, selection.filter)


@contextmanager
def _explained() -> Iterator[None]:
    """Show in the form that another file is being made."""
    try:
        yield
    except InProgress as error:
        raise Invalid({"body": [error.message]}) from None


def _sent(form: Form, *names: str) -> dict[str, Any]:
    """Return the fields as the API takes them."""
    return {name: form.text(name) or None for name in names}


def _numbers(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert numbers, which a form sends as text."""
    return {name: _from_text(value) if isinstance(value, str) else value for name, value in fields.items()}


def _from_text(text: str) -> str | int | float:
    number = _NUMBER.fullmatch(text)
    return text if number is None else float(text.replace(",", ".")) if number[1] else int(text)
