"""Pages of the dashboard: the shares of an account, and the form of one."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import NotFound
from waypost.kit.fields import parse
from waypost.kit.ids import parse_id
from waypost.resources import links
from waypost.resources.links.form.choices import find_choices
from waypost.resources.shares import form, service
from waypost.resources.shares.deps import Deps
from waypost.resources.shares.model import Share
from waypost.resources.shares.schemas import NewShare, ShareChange
from waypost.web.dashboard import EditForm, Form, Names, PageCall, Pages, redirect, shows

_ALL = "/shares"
_ONE = f"{_ALL}/{{id}}"
_PER_PAGE = 25


async def _find_links(deps: Deps, account_id: UUID, ids: Sequence[UUID]) -> Mapping[str, str]:
    """Return the short URLs of the account's links by id."""
    async with deps.db.read() as tx:
        found = await links.find_names(tx, account_id, ids, shared_domain=deps.shared_domain)
    return {str(id_): short_url for id_, (short_url, _) in found.items()}


async def _find_names(deps: Deps, account_id: UUID, versions: Sequence[Form]) -> Names:
    names = await _find_links(deps, account_id, [id_ for version in versions for id_ in form.linked(version)])
    shown = [choice for version in versions for choice in form.choices_of(version, names)]
    return {"link_id": names, "filters": {choice.sent: choice.text for choice in shown}}


_EDIT = EditForm(
    service.get,
    form.fill_from_share,
    secrets=lambda share: {"password": share.password_hash},
    labels={
        "link_id": "Link",
        "tag": "Only links with the tag",
        "hostname": "Only links on the domain",
        "filters": "Only clicks that match",
        "to": "Until",
        "hide_below": "Hide fewer clicks than",
        "expires_at": "Expires",
        "embed_origins": "Pages that may embed it",
    },
    find_names=_find_names,
)


class SharePages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get(_ALL, shows("shares/list.html", self._find_all), "view"),
            self.get(f"{_ALL}/new", self.new, "links.write"),
            self.form(f"{_ALL}/new", self.create, "links.write", self.new),
            self.get(_ONE, self.show, "links.write"),
            self.form(_ONE, self.change, "links.write", self.show, edit=_EDIT),
            self.get(f"{_ONE}/delete", shows("shares/delete.html", self._find), "links.write"),
            self.action(f"{_ONE}/delete", service.delete, "links.write", _ALL, "share-deleted"),
        ]

    async def new(self, call: PageCall) -> Response:
        state, now = call.request.query_params, self._deps.clock()
        filled = call.form if call.error else form.fill_from_state(state, call.preferences, now)
        return call.render("shares/new.html", filled, **await self._choices(call, filled))

    async def create(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        new, problems = parse(NewShare, form.read_fields(call.form, call.preferences))
        share = await service.create(self._deps, call.session, new, problems)
        return redirect(f"{_ALL}/{share.id}", "share-created")

    async def show(self, call: PageCall) -> Response:
        share = await service.get(self._deps, call.session, call.id)
        filled = call.form if call.error else _EDIT.show(share, call.preferences)
        urls: dict[str, Any] = {"url": self._deps.url(share), "embed_url": self._deps.embed_url(share)}
        return call.render("shares/one.html", filled, share=share, **urls, **await self._choices(call, filled))

    async def change(self, call: PageCall) -> Response:
        share = await service.get(self._deps, call.session, call.id)
        self._auth.require_active_plan(call.session)
        change, problems = parse(ShareChange, form.read_change(call.form, share, call.preferences))
        await service.change(self._deps, call.session, share.id, change, problems)
        return redirect(f"{_ALL}/{share.id}", "saved")

    async def _find_all(self, call: PageCall) -> dict[str, Any]:
        page = await service.list_shares(self._deps, call.session, call.pagination(_PER_PAGE))
        linked = [share.link_id for share in page.items if share.link_id]
        names = await _find_links(self._deps, call.session.account.id, linked)
        return {
            "page": page,
            "subjects": {share.id: _subject(share, names) for share in page.items},
            "urls": self._deps.url,
        }

    async def _find(self, call: PageCall) -> dict[str, Any]:
        return {"share": await service.get(self._deps, call.session, call.id)}

    async def _choices(self, call: PageCall, filled: Form) -> dict[str, Any]:
        """Return what the form offers. A link that is not one of the account is not found."""
        account, link_id = call.session.account.id, parse_id(filled.text("link_id"))
        async with self._deps.db.read_for(account) as tx:
            choices = await find_choices(tx, account)
            link = await links.get(tx, account, link_id) if link_id and not call.error else None
        if filled.text("link_id") and not link_id and not call.error:
            raise NotFound
        names = await _find_links(self._deps, account, form.linked(filled))
        shared = self._deps.shared_domain
        return {
            "tags": choices.tags,
            "hostnames": [("", "All domains"), *{shared: shared, **choices.hostnames}.items()],
            "link_name": link.short_url(shared) if link else names.get(str(link_id), ""),
            "filters": form.choices_of(filled, names),
        }


def _subject(share: Share, names: Mapping[str, str]) -> str:
    if share.link_id:
        return names.get(str(share.link_id), "Deleted link")
    if share.tag:
        return "Deleted tag" if share.has_lost_tag else f"Links tagged {share.tag}"
    return f"Links on {share.hostname}" if share.hostname else "All links"
