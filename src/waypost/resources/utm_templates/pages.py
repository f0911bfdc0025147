"""HTML pages of campaign templates."""

from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost.context import Context
from waypost.kit.fields import parse
from waypost.resources.utm_templates import service
from waypost.resources.utm_templates.schemas import NewUtmTemplate, UtmTemplateChange
from waypost.web.dashboard import EditForm, Form, PageCall, Pages, redirect, shows

_PATH = "/links/utm-templates"
_ONE = f"{_PATH}/{{id}}"
_PER_PAGE = 50
_EDIT = EditForm(service.get, lambda template, _: Form({"name": template.name, "utm_params": template.utm_params}))


class UtmTemplatePages(Pages[Context]):
    def endpoints(self) -> list[Route]:
        return [
            self.get(_PATH, shows("utm_templates/list.html", self._find_all), "links.write"),
            self.get(f"{_PATH}/new", self.new, "links.write"),
            self.form(f"{_PATH}/new", self.create, "links.write", self.new),
            self.get(_ONE, self.show, "links.write"),
            self.form(_ONE, self.change, "links.write", self.show, edit=_EDIT),
            self.action(f"{_ONE}/delete", service.delete, "links.write", _PATH, "utm-template-deleted"),
        ]

    async def new(self, call: PageCall) -> Response:
        return call.render("utm_templates/form.html", shown=None)

    async def create(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        await service.create(self._deps, call.session, *parse(NewUtmTemplate, call.form.fields))
        return redirect(_PATH, "utm-template-created")

    async def show(self, call: PageCall) -> Response:
        template = await service.get(self._deps, call.session, call.id)
        return call.render("utm_templates/form.html", _EDIT.show(template, call.preferences), shown=template)

    async def change(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        await service.change(self._deps, call.session, call.id, *parse(UtmTemplateChange, call.form.fields))
        return redirect(_PATH, "saved")

    async def _find_all(self, call: PageCall) -> dict[str, Any]:
        return {"page": await service.list_templates(self._deps, call.session, call.pagination(_PER_PAGE))}
