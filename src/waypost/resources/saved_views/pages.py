"""Pages of saved views: save one, open it, rename it, delete it."""

from typing import Any
from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost.context import Context
from waypost.kit.ids import require_id
from waypost.resources.links import store as link_store
from waypost.resources.saved_views import service
from waypost.web.dashboard import EditForm, Form, PageCall, Pages, redirect, shows
from waypost.web.dashboard.notices import with_notice

_ALL = "/stats/views"
_ONE = f"{_ALL}/{{id}}"
_EDIT = EditForm(service.get, lambda view, _: Form({"name": view.name}))


class ViewPages(Pages[Context]):
    def endpoints(self) -> list[Route]:
        return [
            self.get(_ALL, shows("saved_views/list.html", self._find_all), "view"),
            self.get(f"{_ALL}/new", self.new, "view"),
            self.form(f"{_ALL}/new", self.save, "view", self.new),
            self.get(_ONE, self.open, "view"),
            self.get(f"{_ONE}/edit", self.edit, "view"),
            self.form(f"{_ONE}/edit", self.rename, "view", self.edit, edit=_EDIT),
            self.action(f"{_ONE}/delete", service.delete, "view", _ALL, "view-deleted"),
        ]

    async def _find_all(self, call: PageCall) -> dict[str, Any]:
        return {"views": await service.list_views(self._deps, call.session)}

    async def new(self, call: PageCall) -> Response:
        """Save the state in the query."""
        link_id = _link_id(call.form.text("link_id") or call.query("link_id"))
        link = None
        if link_id:
            async with self._deps.db.point_read() as tx:
                link = await link_store.get(tx, call.session.account.id, link_id)
        short_url = link.short_url(self._deps.shared_domain) if link else ""
        query = call.form.text("query") or call.query("query")
        return call.render("saved_views/new.html", link_id=link_id, short_url=short_url, query=query)

    async def save(self, call: PageCall) -> Response:
        form = call.form
        view = await service.save(
            self._deps,
            call.session,
            name=form.text("name"),
            link_id=_link_id(form.text("link_id")),
            query=form.text("query"),
            is_personal=form.text("members") != "all",
        )
        return redirect(view.url, "view-saved")

    async def open(self, call: PageCall) -> Response:
        url, is_reduced = await service.find_state(self._deps, call.session, call.id)
        return RedirectResponse(with_notice(url, "view-reduced") if is_reduced else url, 303)

    async def edit(self, call: PageCall) -> Response:
        view = await service.get(self._deps, call.session, call.id)
        if not view.is_personal:
            self._auth.require_role(call.session, "links.write")
        return call.render("saved_views/edit.html", _EDIT.show(view, call.preferences), view=view)

    async def rename(self, call: PageCall) -> Response:
        await service.rename(self._deps, call.session, call.id, call.form.text("name"))
        return redirect(_ALL, "saved")


def _link_id(text: str) -> UUID | None:
    """Raises NotFound."""
    return require_id(text) if text else None
