"""Pages of missed addresses: those of a domain, and for operators those of the shared domain."""

from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost.resources.domains import names
from waypost.resources.domains import service as domain_service
from waypost.resources.domains.deps import WebDeps
from waypost.resources.domains.missed import service
from waypost.web.dashboard import PageCall, Pages

_PER_PAGE = 50


class MissedPages(Pages[WebDeps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get("/domains/{id}/missed", self.show, "view"),
            self.get("/operator/missed", self.show_shared, "operator"),
        ]

    async def show(self, call: PageCall) -> Response:
        domain = await domain_service.get(self._deps, call.session, call.id)
        page = await service.list_missed(self._deps, call.session, call.id, call.pagination(_PER_PAGE))
        path = f"/domains/{domain.id}/missed"
        return call.render("domains/missed.html", page=page, path=path, domain=domain, readable=names.readable)

    async def show_shared(self, call: PageCall) -> Response:
        page = await service.list_missed_of_shared_domain(self._deps, call.pagination(_PER_PAGE))
        shown: dict[str, Any] = {"path": "/operator/missed", "domain": None, "shared_domain": self._deps.shared_domain}
        return call.render("domains/missed.html", page=page, **shown)
