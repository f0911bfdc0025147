"""The form that creates or changes a link, and its fragments that follow the input: slug state and social card.

A card's image is fetched and re-encoded here, because our pages load nothing from other hosts.
"""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any
from uuid import UUID

from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from waypost.accounts import roles
from waypost.kit.errors import Invalid, NotFound, PaymentRequired, Problems, RateLimited, Unavailable
from waypost.kit.ids import new_id, parse_id, require_id
from waypost.resources import domains, utm_templates
from waypost.resources.domains.options import forward_form
from waypost.resources.links import checks, page_header, service
from waypost.resources.links.deps import Deps
from waypost.resources.links.form import choices
from waypost.resources.links.form import fields as forms
from waypost.resources.links.images import api as media_api
from waypost.resources.links.model import Link
from waypost.resources.links.routing import service as routing_service
from waypost.resources.links.routing.change import RoutedLink
from waypost.resources.links.tags import store as tags
from waypost.web.dashboard import BLANK, EditForm, Form, Names, PageCall, Pages, is_fragment_request, redirect

_TEMPLATE = "links/form.html"
_QUICK = "quick"
"""The form of the overview."""
_IMAGE_HEADERS = media_api.DISPLAY_ONLY | {
    "Cache-Control": "private, max-age=3600",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_UNREACHABLE = "The destination URL could not be reached: {}. You can still save the link."


async def _find_names(deps: Deps, account_id: UUID, versions: Sequence[Form]) -> Names:
    async with deps.db.read() as tx:
        found = await choices.find_choices(tx, account_id)
    deleted = dict.fromkeys((id_ for version in versions for id_ in version.texts("pixel_ids")), "Deleted pixel")
    pixels = {str(id_): f"{name} ({platform})" for id_, name, platform in found.pixels}
    return {"hostname": found.hostnames, "pixel_ids": {**deleted, **pixels}}


class LinkFormPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get("/links/new", self.new, "links.write"),
            self.form("/links/new", self.create, "links.write"),
            self.get("/links/{id}/edit", self.edit, "view"),
            self.form("/links/{id}/edit", self.change, "links.write", edit=self._edit),
            self.get("/links/check-slug", self.check_slug, "links.write"),
            self.get("/links/random-slug", self.draw_slug, "links.write"),
            self.form("/links/preview", self.preview_destination, "links.write"),
            self.get("/links/card-image", self.card_image, "links.write"),
        ]

    @property
    def _edit(self) -> EditForm:
        return EditForm(
            routing_service.get,
            lambda routed, preferences: forms.fill_from_link(routed, self._deps, preferences),
            forms.as_filled,
            lambda routed: {"password": routed.routing and routed.routing.password_version},
            attrgetter("link.changed_by"),
            labels=forms.LABELS,
            names=forward_form.CHOICES,
            find_names=_find_names,
        )

    async def new(self, call: PageCall) -> Response:
        """Show a blank form, a copy of the link `?from=`, or one with what a browser or another app shares."""
        if source := call.query("from"):
            copied = await routing_service.get(self._deps, call.session, require_id(source))
            return await self._render(call, forms.fill_copy(copied, self._deps, call.preferences), copied=copied)
        shared = {"hostname": await self._find_default(call), **call.request.query_params}
        return await self._render(call, forms.fill_shared(self._deps, shared))

    async def _find_default(self, call: PageCall) -> str:
        async with self._deps.db.read() as tx:
            return await domains.find_default(tx, call.session.account.id) or self._deps.shared_domain

    async def create(self, call: PageCall) -> Response:
        if not self._auth.has_active_plan(call.session):
            if is_fragment_request(call.request, _QUICK):
                raise PaymentRequired
            return await self._render(call, call.form, status=402)
        if "hostname" not in call.form.fields:  # the form of the overview
            call = replace(call, form=Form({**call.form.fields, "hostname": await self._find_default(call)}))
        try:
            new, limits, problems, form_id = forms.read_new_link(call.form, call.preferences)
            link = await service.create_once(self._deps, call.session, new, problems, form_id, routing=limits)
        except (Invalid, Unavailable) as error:
            if is_fragment_request(call.request, _QUICK):
                return self._quick(call, form=call.form.with_error(error))
            return await self._render(call.refused(error))
        if is_fragment_request(call.request, _QUICK):
            created = self._quick(call, form=Form({"form_id": str(new_id())}), created=link, problems=problems)
            created.headers["HX-Trigger"] = "link-created"
            return created
        return await self._redirect_to(call, link, "created", problems)

    def _quick(self, call: PageCall, **context: Any) -> Response:
        """Render the form of the overview, with the link that it created."""
        context = {"created": None, "shared_domain": self._deps.shared_domain, **context}
        return self._views.render_fragment(call.request, "links/quick.html", _QUICK, **context)

    async def edit(self, call: PageCall) -> Response:
        """Show the form, or its values to members who cannot change them."""
        routed = await routing_service.get(self._deps, call.session, call.id)
        template = _TEMPLATE if roles.may(call.session.role, "links.write") else "links/settings.html"
        return await self._render(call, self._edit.show(routed, call.preferences), routed, template=template)

    async def change(self, call: PageCall) -> Response:
        routed = await routing_service.get(self._deps, call.session, call.id)
        if not self._auth.has_active_plan(call.session):
            return await self._render(call, call.form, routed, status=402)
        try:
            change, limits, problems = forms.read_change(call.form, routed, self._deps, call.preferences)
            link = await service.change(self._deps, call.session, call.id, change, problems, routing=limits)
        except (Invalid, Unavailable) as error:
            return await self._render(call.refused(error), routed=routed)
        return await self._redirect_to(call, link, "changed", problems, routed.link.slug)

    async def check_slug(self, call: PageCall) -> Response:
        slug, link_id = call.query("slug"), parse_id(call.query("link"))
        state, problem = await service.slug_state(self._deps, call.session, slug, link_id) if slug else ("blank", "")
        is_possible = state in {"free", "own", "current"}
        shown = (call.query("hostname"), slug, link_id)
        twin = await service.find_twin(self._deps, call.session, *shown) if is_possible else None
        context: dict[str, Any] = {"state": state, "problem": problem, "twin": twin}
        return self._views.render_fragment(call.request, _TEMPLATE, "slug_state", **context)

    async def draw_slug(self, call: PageCall) -> Response:
        return PlainTextResponse(await service.draw_slug(self._deps, call.session, call.query("hostname")))

    async def preview_destination(self, call: PageCall) -> Response:
        """Render the social card of the destination's page."""
        card, problem = None, ""
        try:
            if call.form.text("destination_url").strip():
                self._auth.require_active_plan(call.session)
                await self._auth.limit_expensive(call.session, "preview")
                new, problems = forms.read_destination(call.form)
                metadata = await checks.fetch_metadata(self._deps, call.session.account.id, new, problems)
                card = forms.scraped_card(self._deps, call.form, metadata)
                if reason := problems.reasons.get("destination_url"):
                    card, problem = None, _UNREACHABLE.format(reason)
        except Invalid as error:
            problem = Form().with_error(error).error("destination_url")
        except RateLimited:
            problem = "Too many previews. Try again in a minute. You can still create the link."
        except (PaymentRequired, Unavailable) as error:
            problem = error.message
        return self._views.render_fragment(call.request, _TEMPLATE, "card", card=card, problem=problem)

    async def card_image(self, call: PageCall) -> Response:
        is_same_origin = call.request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
        if not is_same_origin or not self._auth.has_active_plan(call.session):
            raise NotFound
        await self._auth.limit_expensive(call.session, "image")
        image = await checks.fetch_image(self._deps, call.session.account.id, call.query("url"))
        return Response(image.content, media_type=media_api.TYPES[image.extension], headers=_IMAGE_HEADERS)

    async def _render(
        self,
        call: PageCall,
        form: Form = BLANK,
        routed: RoutedLink | None = None,
        *,
        copied: RoutedLink | None = None,
        status: int = 200,
        template: str = _TEMPLATE,
    ) -> Response:
        link, stored = routed or (None, None)
        async with self._deps.db.read() as tx:
            found = await choices.find_choices(tx, call.session.account.id)
            templates = await utm_templates.find_all(tx, call.session.account.id)
            utm_values = await choices.find_utm_values(tx, call.session.account.id)
            unserved = await domains.find_unserved(tx, [link.domain_id] if link else ())
            own_colors = await tags.find_colors(tx, call.session.account.id, link.tags if link else ())
        shared = self._deps.shared_domain
        of_domains = {"is_domain_served": not unserved, "has_domains": bool(found.hostnames)}
        return call.render(
            template,
            form,
            status=status,
            **(page_header.header(link, stored, shared, **of_domains) if link else {"link": None}),
            problem="",
            state="blank",
            twin=await self._find_twin(call, link) if link else None,
            choices=found,
            forward_choices=forward_form.CHOICES,
            tag_colors={**found.tags, **own_colors},
            utm_templates=templates,
            utm_values=utm_values,
            readable=domains.readable,
            has_password=routed is not None and routed.has_password,
            lost_password=copied is not None and copied.has_password,
            unsafe_urls=stored.unsafe_urls if stored else (),
            shared_domain=shared,
            card=forms.typed_card(self._deps, call.form if call.error else form),
            has_active_plan=self._auth.has_active_plan(call.session),
        )

    async def _redirect_to(
        self, call: PageCall, link: Link, done: str, problems: Problems, slug_before: str = ""
    ) -> Response:
        unreachable = "&destination=unreachable" if problems.reasons else ""
        is_twin = call.form.text("slug") != slug_before and await self._find_twin(call, link)
        return redirect(f"/links/{link.id}?done={done}{unreachable}{'&slug=twin' if is_twin else ''}")

    async def _find_twin(self, call: PageCall, link: Link) -> str | None:
        return await service.find_twin(self._deps, call.session, link.hostname or "", link.slug, link.id)
