"""Pages that change many links: the fields, a preview, progress and result.

A page is a GET request with the selection in its query, so that it works without scripts and the browser can go back.
Only the last step, which changes something, is a POST.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args
from urllib.parse import urlencode

from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.sessions.store import Session
from waypost.kit.clock import parse_timestamp
from waypost.kit.errors import Invalid, PaymentRequired, Problems
from waypost.kit.fields import MAX_URL, text_problem
from waypost.kit.ids import new_id, parse_id
from waypost.kit.preferences import Preferences
from waypost.kit.urls import BadUrl
from waypost.resources import utm_templates
from waypost.resources.links.bulk import changes as bulk_changes
from waypost.resources.links.bulk import service as bulk
from waypost.resources.links.bulk.change_steps import replaced
from waypost.resources.links.bulk.change_store import UNDO_TIME, Kind, Selection
from waypost.resources.links.bulk.selection_form import all_fields, list_query, read_selection, selection_fields
from waypost.resources.links.deps import Deps
from waypost.resources.links.form.choices import FormChoices, find_choices
from waypost.resources.links.model import Link
from waypost.web.body import nest
from waypost.web.dashboard import Form, PageCall, Pages, is_fragment_request, redirect

_PREVIEWED = 25
_NOTHING_TO_CHANGE = "Choose at least one change."
_NOTHING_TO_FIND = "Enter the text to find."


class PreviewRow(NamedTuple):
    link: Link
    short_url: str
    changes: Sequence[tuple[str, str]]
    """Before and after. Empty if nothing changes."""
    problem: str


@dataclass(frozen=True, slots=True)
class BulkRequest:
    """What to do with which links."""

    kind: Kind
    selection: Selection
    values: Mapping[str, Any]
    """As `bulk_changes.start` takes them."""


class BulkPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get("/links/bulk", self.edit, "links.write"),
            self.form("/links/bulk", self.apply, "links.write", self._form),
            self.get("/links/bulk/{id}", self.show, "links.write"),
            self.action("/links/bulk/{id}/cancel", bulk_changes.cancel, "links.write", "/links/bulk/{id}"),
            self.form("/links/bulk/{id}/undo", self.undo, "links.write"),
        ]

    async def edit(self, call: PageCall) -> Response:
        """Show the fields, or a preview if an action was chosen."""
        fields = nest((name, text or None) for name, text in call.request.query_params.multi_items())
        call = replace(call, form=Form(fields))
        if call.form.text("action") not in get_args(Kind):
            return await self._form(call)
        try:
            return await self._preview(call)
        except (Invalid, PaymentRequired) as error:
            return await self._form(call.refused(error))

    async def apply(self, call: PageCall) -> Response:
        asked, _ = await self._ask(call)
        id_ = parse_id(call.form.text("change_id")) or new_id()
        await bulk_changes.start(self._deps, call.session, id_, asked.kind, asked.selection, asked.values)
        return redirect(f"/links/bulk/{id_}")

    async def show(self, call: PageCall) -> Response:
        change = await bulk_changes.get(self._deps, call.session.account.id, call.id)
        context: dict[str, Any] = {"change": change, "can_undo": change.can_be_undone(self._deps.clock())}
        context |= {"until": change.created_at + UNDO_TIME, "undo_id": new_id()}
        if is_fragment_request(call.request, "change"):
            return self._views.render_fragment(call.request, "links/bulk_change.html", "change", **context)
        return call.render("links/bulk_change.html", **context)

    async def undo(self, call: PageCall) -> Response:
        change_id = parse_id(call.form.text("change_id")) or new_id()
        change = await bulk_changes.undo(self._deps, call.session, change_id, call.id)
        return redirect(f"/links/bulk/{change.id}")

    async def _form(self, call: PageCall) -> Response:
        account, form = call.session.account.id, call.form
        selection = read_selection(form, self._deps.shared_domain, Problems())
        total = await bulk_changes.count(self._deps, account, selection) if selection else 0
        async with self._deps.db.read() as tx:
            choices = await find_choices(tx, account)
            templates = await utm_templates.find_all(tx, account)
        context: dict[str, Any] = {
            "choices": choices,
            "utm_templates": templates,
            "total": total,
            "query": list_query(form),
            "selected": selection_fields(form),
        }
        context |= {"shared_domain": self._deps.shared_domain}
        context |= {"has_active_plan": self._auth.has_active_plan(call.session)}
        return call.render("links/bulk.html", form, **context)

    async def _preview(self, call: PageCall) -> Response:
        account = call.session.account.id
        asked, checked = await self._ask(call)
        find = asked.values.get("find", "")
        total = await bulk_changes.count(self._deps, account, asked.selection, find)
        links = await bulk_changes.find_first(self._deps, account, asked.selection, _PREVIEWED, find)
        async with self._deps.db.read() as tx:
            choices = await find_choices(tx, account)
        context: dict[str, Any] = {
            "kind": asked.kind,
            "total": total,
            "rows": [self._preview_row(link, asked, checked, choices, call.preferences) for link in links],
            "summary": list(_summary(asked, choices, call.preferences)),
            "hidden": [("change_id", str(new_id())), ("action", asked.kind), *all_fields(call.form)],
            "query": list_query(call.form),
            "back": urlencode(all_fields(call.form)),
            "needs_job": total > bulk_changes.MAX_NOW or asked.kind == "replace",
        }
        return call.render("links/bulk_preview.html", **context)

    async def _ask(self, call: PageCall) -> tuple[BulkRequest, bulk.CheckedSet | None]:
        """Read what was asked for. Raises Invalid and PaymentRequired."""
        session, form, problems, checked = call.session, call.form, Problems(), None
        selection = read_selection(form, self._deps.shared_domain, problems)
        kind: Any = form.text("action")
        values: dict[str, Any] = {}
        if kind == "set":
            values = {"set": _read_set(form, call.preferences) | await self._read_template(session, form, problems)}
            if not values["set"]:
                problems.add("body", _NOTHING_TO_CHANGE)
            checked = await bulk.check_set(self._deps, session.account.id, values["set"], problems)
        elif kind == "replace":
            values = {"find": form.text("find"), "replacement": form.text("replacement")}
            for name, text in values.items():
                if problem := text_problem(text):
                    problems.add(name, problem)
                elif len(text) > MAX_URL:
                    problems.add(name, f"This must have at most {MAX_URL:,} characters.")
            if not values["find"]:
                problems.add("find", _NOTHING_TO_FIND)
        elif kind != "delete":
            problems.add("body", _NOTHING_TO_CHANGE)
        problems.raise_if_any()
        if kind == "replace" or (kind == "set" and values["set"] != {"status": "inactive"}):
            self._auth.require_active_plan(session)
        assert selection is not None  # noqa: S101  # otherwise there is a problem
        return BulkRequest(kind, selection, values), checked

    async def _read_template(self, session: Session, form: Form, problems: Problems) -> dict[str, Any]:
        """Return the parameters of the chosen template, as the API takes them."""
        chosen = form.text("utm_template")
        if not chosen:
            return {}
        async with self._deps.db.read() as tx:
            templates = await utm_templates.find_all(tx, session.account.id)
        for template in templates:
            if str(template.id) == chosen:
                return {"utm_params": dict(template.utm_params)}
        problems.add("utm_template", utm_templates.NO_TEMPLATE)
        return {}

    def _preview_row(
        self,
        link: Link,
        asked: BulkRequest,
        checked: bulk.CheckedSet | None,
        choices: FormChoices,
        preferences: Preferences,
    ) -> PreviewRow:
        short_url = link.short_url(self._deps.shared_domain)
        if asked.kind == "replace":
            try:
                new = replaced(self._deps, link, **asked.values)
            except BadUrl as error:
                return PreviewRow(link, short_url, [], str(error))
            changes = [(link.destination_url, new)] if new != link.destination_url else []
            return PreviewRow(link, short_url, changes, "")
        if checked is None:
            return PreviewRow(link, short_url, [], "")
        plan = bulk.plan_set(link, checked, self._deps, by="")
        if plan.problems:
            return PreviewRow(link, short_url, [], " ".join(plan.problems.values()))
        return PreviewRow(
            link, short_url, list(_differences(link, plan.after, self._deps.shared_domain, choices, preferences)), ""
        )


def _read_set(form: Form, preferences: Preferences) -> dict[str, Any]:
    """Read the fields to change, as the API takes them."""
    sent: dict[str, Any] = {name: form.text(f"set.{name}") for name in ("status", "hostname")}
    sent = {name: text for name, text in sent.items() if text}
    for name in ("add_tags", "remove_tags"):
        if tags := [tag.strip() for tag in form.text(f"set.{name}").split(",") if tag.strip()]:
            sent[name] = tags
    expiry = form.text("expiry")
    if expiry:
        at = preferences.read_field(form.text("set.expires_at"))
        sent["expires_at"] = None if expiry == "never" else at or ""
    pixels = form.text("pixels")
    if pixels:
        sent["pixel_ids"] = form.texts("pixel_ids") if pixels == "replace" else []
    return sent


def _summary(asked: BulkRequest, choices: FormChoices, preferences: Preferences) -> Iterator[str]:
    """Say in words what will change."""
    set_ = asked.values.get("set", {})
    if "status" in set_:
        yield "Enable the links." if set_["status"] == "active" else "Disable the links: visitors see “Link not found”."
    if "add_tags" in set_:
        yield f"Add the tags: {', '.join(set_['add_tags'])}."
    if "remove_tags" in set_:
        yield f"Remove the tags: {', '.join(set_['remove_tags'])}."
    if "utm_params" in set_:
        params = ", ".join(f"{name}={value}" for name, value in set_["utm_params"].items())
        yield f"Set the campaign parameters in the destinations: {params}."
    if "expires_at" in set_:
        at = set_["expires_at"]
        yield f"Expire at {preferences.zoned(parse_timestamp(at))}." if at else "Remove the expiry."
    if "hostname" in set_:
        yield f"Move the links to {set_['hostname']}. Printed QR codes of links on other domains stop working."
    if "pixel_ids" in set_:
        names = [name for id_, name, _ in choices.pixels if str(id_) in set_["pixel_ids"]]
        yield f"Replace the pixels with: {', '.join(names)}." if names else "Remove all pixels."


def _differences(
    before: Link, after: Link, shared_domain: str, choices: FormChoices, preferences: Preferences
) -> Iterator[tuple[str, str]]:
    if before.is_enabled != after.is_enabled:
        yield ("Disabled", "Enabled") if after.is_enabled else ("Enabled", "Disabled")
    if before.destination_url != after.destination_url:
        yield before.destination_url, after.destination_url
    if before.tags != after.tags:
        yield ", ".join(before.tags) or "No tags", ", ".join(after.tags) or "No tags"
    if before.expires_at != after.expires_at:
        times = before.expires_at, after.expires_at
        old, new = (f"Expires {preferences.zoned(at)}" if at else "No expiry" for at in times)
        yield old, new
    if before.hostname != after.hostname:
        yield before.hostname or shared_domain, after.hostname or shared_domain
    if before.pixel_ids != after.pixel_ids:
        names = {id_: name for id_, name, _ in choices.pixels}
        old, new = (", ".join(names.get(id_, "…") for id_ in ids) for ids in (before.pixel_ids, after.pixel_ids))
        yield old or "No pixels", new or "No pixels"
