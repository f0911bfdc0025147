"""The page with a link's routing. Without JavaScript, its buttons send the form and get it with the entry changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from operator import attrgetter
from typing import Any, get_args

from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.clock import parse_timestamp
from waypost.kit.errors import Invalid, PaymentRequired, Problems, Unavailable, Unreadable
from waypost.kit.fields import parse
from waypost.kit.preferences import Preferences
from waypost.kit.timezones import zone_choices
from waypost.kit.urls import BadUrl
from waypost.redirect.routing.compiled import compile_routing
from waypost.redirect.routing.explain import explain
from waypost.redirect.routing.rules import KnownVisitor, decide
from waypost.resources import domains
from waypost.resources.links import page_header
from waypost.resources.links.deps import Deps
from waypost.resources.links.routing import forms, service
from waypost.resources.links.routing.change import RoutedLink
from waypost.resources.links.routing.schemas import (
    MAX_CONDITIONS,
    MAX_RULES,
    MAX_VARIANTS,
    ParsedRouting,
    RoutingChange,
    RoutingFields,
    parse_routing,
)
from waypost.visitors.agents import OTHER, Agent
from waypost.visitors.choices import ChoiceKind, choices, find_value, value_name
from waypost.visitors.devices import OTHER_DEVICE, Device
from waypost.visitors.queries import parse_query
from waypost.visitors.symbols import find_icon
from waypost.web.dashboard import EditForm, Form, PageCall, Pages, redirect

_PATH = "/links/{id}/routing"
_EDIT = EditForm(service.get, forms.fill, forms.read, changed_by=attrgetter("link.changed_by"), words=forms.in_words)
_read = partial(PageCall.read, max_fields=forms.MAX_FIELDS)
TYPES = {
    "platform": "Platform",
    "device": "Device",
    "browser": "Browser",
    "country": "Country",
    "language": "Language",
    "query": "Query parameter",
    "time": "Time",
    "schedule": "Weekly schedule",
}
PLACEHOLDERS = {
    "App Store": "https://apps.apple.com/app/id…",
    "Google Play": "https://play.google.com/store/apps/details?id=…",
}
NO_TIME = "This must be a date and time."
NO_URL = "This must be a URL such as https://example.com/page."


@dataclass(frozen=True, slots=True)
class TestResult:
    failed: Sequence[str]
    """Why the rules before the one that matches do not."""
    outcomes: Sequence[tuple[str, str]]
    """(URL, reason). Several, if variants divide the visitors."""


class RoutingPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get(_PATH, self.show, "view"),
            self.form(_PATH, self.save, "links.write", edit=_EDIT, read=_read),
        ]

    async def show(self, call: PageCall) -> Response:
        routed = await service.get(self._deps, call.session, call.id)
        return await self._render(call, routed, _EDIT.show(routed, call.preferences))

    async def save(self, call: PageCall) -> Response:
        routed = await service.get(self._deps, call.session, call.id)
        form = forms.read(call.form)
        if change := form.text("edit"):
            edited = forms.edit(form, change, call.preferences)
            return await self._render(call, routed, edited.form, focus=edited.focus)
        request = forms.request_of(form, routed, call.preferences)
        try:
            fields, problems = parse(RoutingChange, request)
            if form.text("action") == "test":
                return await self._render(
                    call, routed, form, result=self._test(call.preferences, routed, form, fields, problems)
                )
            self._auth.require_active_plan(call.session)
            await service.save(self._deps, call.session, routed.link.id, fields, problems)
        except (Invalid, PaymentRequired, Unavailable) as error:
            if isinstance(error, Invalid):
                forms.explain_values(error.errors, request)
            return await self._render(replace(call, form=form).refused(error), routed, form)
        return redirect(f"/links/{routed.link.id}/routing", "routing-saved")

    def _test(
        self, preferences: Preferences, routed: RoutedLink, form: Form, fields: RoutingFields, problems: Problems
    ) -> TestResult:
        """Say where the visitor is sent by the routing in the form, saved or not. Raises Invalid."""
        parsed = parse_routing(fields, problems)
        urls: dict[str, str] = {}
        for path, url in parsed.urls:
            try:
                urls[url] = self._deps.destination_checker.canonical(url).text
            except BadUrl:
                problems.add(path, NO_URL)
        at, now = preferences.read_field(form.text("test.time")), self._deps.clock()
        try:
            now = parse_timestamp(at) if at else now
        except ValueError:
            problems.add("test.time", at if isinstance(at, Unreadable) else NO_TIME)
        problems.raise_if_any()
        compiled, visitor = compile_routing(*_with_urls(parsed, urls)), _visitor(form)
        shares = (0, *accumulate(weight for _, _, weight in compiled[1]))
        outcomes: dict[str, tuple[str, str]] = {}
        for each in (replace(visitor, drawn=share) for share in shares if share < 100):
            decision = decide(compiled, each, now.timestamp())
            url = decision.location.decode() if decision.location else routed.link.destination_url
            outcomes[decision.target] = url, explain(compiled, each, now.timestamp(), preferences)[-1]
        return TestResult(explain(compiled, visitor, now.timestamp(), preferences)[:-1], list(outcomes.values()))

    async def _render(
        self,
        call: PageCall,
        routed: RoutedLink,
        form: Form,
        *,
        focus: str = "",
        result: TestResult | None = None,
    ) -> Response:
        link, routing = routed
        async with self._deps.db.read() as tx:
            is_served, has_domains = await domains.find_state(tx, link.account_id, link.domain_id)
        context: dict[str, Any] = {
            **page_header.header(
                link, routing, self._deps.shared_domain, is_domain_served=is_served, has_domains=has_domains
            ),
            "stored": routing,
            "unsafe_urls": routing.unsafe_urls if routing else (),
            "focus": focus,
            "result": result,
        }
        return call.render("links/routing.html", form, **context, **_CHOICES)


_CHOICES: Mapping[str, Any] = {
    "types": TYPES,
    "choices": choices,
    "name_of": value_name,
    "icon_of": find_icon,
    "placeholders": PLACEHOLDERS,
    "zones": zone_choices,
    "days": list(forms.DAYS.items()),
    "limits": {"rules": MAX_RULES, "conditions": MAX_CONDITIONS, "variants": MAX_VARIANTS},
}


def _with_urls(parsed: ParsedRouting, urls: Mapping[str, str]) -> list[list[dict[str, Any]]]:
    """Return the rules and the variants with the canonical URLs."""
    return [
        [{**entry, "destination_url": urls[entry["destination_url"]]} for entry in entries]
        for entries in (parsed.rules, parsed.variants)
    ]


def _visitor(form: Form) -> KnownVisitor:
    def entered(kind: ChoiceKind) -> str:
        return find_value(kind, form.text(f"test.{kind}"))

    device: Device = next((known for known in get_args(Device) if known == form.text("test.device")), OTHER_DEVICE)
    return KnownVisitor(
        Agent(entered("browser") or OTHER, entered("platform") or OTHER, device),
        entered("country"),
        entered("language").partition("-")[0],
        parse_query(form.text("test.query").strip().removeprefix("?").encode()),
    )
