"""HTML pages of tags."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import InProgress, Invalid, Problems
from waypost.kit.fields import parse
from waypost.kit.pagination import Page
from waypost.resources.links.deps import Deps
from waypost.resources.links.tags import service
from waypost.resources.links.tags.model import TAG_COLORS
from waypost.resources.links.tags.schemas import NewTag, TagChange
from waypost.web.dashboard import EditForm, Form, PageCall, Pages, redirect, shows

_ONE = "/tags/{id}"
_PER_PAGE = 50
_EDIT = EditForm(service.get, lambda tag, _: Form({"name": tag.name, "color": tag.color}))


class TagPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get("/tags", shows("tags/list.html", self._find_all), "view"),
            self.get("/tags/new", self.new, "links.write"),
            self.form("/tags/new", self.create, "links.write", self.new),
            self.get(_ONE, self.show, "links.write"),
            self.form(_ONE, self.change, "links.write", self.show, edit=_EDIT),
            self.get(f"{_ONE}/delete", self.confirm_delete, "links.write"),
            self.form(f"{_ONE}/delete", self.delete, "links.write", self.confirm_delete),
        ]

    async def new(self, call: PageCall) -> Response:
        return call.render("tags/form.html", shown=None, colors=TAG_COLORS)

    async def create(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        await service.create(self._deps, call.session, *parse(NewTag, _sent(call.form)))
        return redirect("/tags", "tag-created")

    async def show(self, call: PageCall) -> Response:
        tag = await service.get(self._deps, call.session, call.id)
        return call.render("tags/form.html", _EDIT.show(tag, call.preferences), shown=tag, colors=TAG_COLORS)

    async def change(self, call: PageCall) -> Response:
        """Ask before two tags become one."""
        self._auth.require_active_plan(call.session)
        tag = await service.get(self._deps, call.session, call.id)
        requested, problems = parse(TagChange, _sent(call.form))
        if requested.name and not problems and not call.form.is_checked("merge"):
            other = await service.find(self._deps, call.session, requested.name)
            if other and other.id != tag.id:
                return call.render("tags/merge.html", call.form, tag=tag, other=other)
        with _explained():
            await service.change(self._deps, call.session, call.id, requested, problems)
        return redirect("/tags", "saved")

    async def confirm_delete(self, call: PageCall) -> Response:
        return call.render("tags/delete.html", tag=await service.get(self._deps, call.session, call.id))

    async def delete(self, call: PageCall) -> Response:
        with _explained():
            await service.delete(self._deps, call.session, call.id)
        return redirect("/tags", "tag-deleted")

    async def _find_all(self, call: PageCall) -> dict[str, Any]:
        search, request = call.query("search"), call.pagination(_PER_PAGE)
        found: dict[str, Any] = {"search": search, "error": "", "page": Page([], 0, request)}
        found["statistics_url"] = _statistics_url
        try:
            found["page"] = await service.list_tags(self._deps, call.session, search, request, Problems())
        except Invalid as error:
            found |= {"error": error.errors["search"][0], "status": 422}
        return found | {"running": await service.find_running(self._deps, call.session)}


@contextmanager
def _explained() -> Iterator[None]:
    """Show in the form that links are being changed."""
    try:
        yield
    except InProgress as error:
        raise Invalid({"body": [error.message]}) from None


def _statistics_url(name: str) -> str:
    """Return the overview with the tag as its filter. Filters have a sign for exclusion, and a word for no tag."""
    unescaped = name.lstrip("\\")
    value = f"\\{name}" if unescaped.startswith("-") or unescaped == "none" else name
    return f"/stats?{urlencode({'tag': value})}"


def _sent(form: Form) -> dict[str, Any]:
    """Return the fields as the API takes them."""
    return {name: form.text(name).strip() for name in ("name", "color") if name in form.fields}
