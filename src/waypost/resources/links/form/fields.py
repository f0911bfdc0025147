"""Fills the form of a link, and reads it into the fields of an API request.

A change sends only what differs from the link: an unchanged destination is not checked again, and an expiry in the past
may stay.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from waypost.kit.clock import timestamp
from waypost.kit.errors import Problems
from waypost.kit.fields import parse
from waypost.kit.forward_query import from_text
from waypost.kit.ids import new_id, parse_id
from waypost.kit.preferences import Preferences
from waypost.kit.urls import without_query_keys
from waypost.outbound import PageMetadata
from waypost.resources.domains.options import forward_form
from waypost.resources.links.deps import Deps
from waypost.resources.links.images import media
from waypost.resources.links.model import Link
from waypost.resources.links.routing.change import RoutedLink
from waypost.resources.links.routing.schemas import RoutingChange
from waypost.resources.links.schemas import LinkChange, LinkOptionsChange, NewLink, options_of, to_json
from waypost.web.dashboard import Form

_STRIPPED = ("destination_url", "slug", "og_image")
_WEB_URL = re.compile(r"\bhttps?://[^\s<>\"]+", re.IGNORECASE)
_PUNCTUATION = ".,;:!?'”»…]"
_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)
_NEVER_WORKS = "This must be before the link expires."
_OWN_OPTIONS = ("note", "external_id")
"""Those that domains do not have."""
_NO_OPTIONS = dict.fromkeys(LinkOptionsChange.model_fields)
LABELS = {
    **forward_form.LABELS,
    "hostname": "Domain",
    "expires_at": "Expires",
    "starts_at": "Starts",
    "og_title": "Card title",
    "og_description": "Card description",
    "og_image": "Image URL",
    "pixel_ids": "Pixels",
}
"""Of fields whose labels are not their names."""
_LIMITS = ("starts_at", "click_limit", "fallback_url", "remove_password")
"""Fields of the routing that are in this form. The password is one, too, and is never shown."""


@dataclass(frozen=True, slots=True)
class SocialCard:
    """Preview of a link as chats and feeds show it."""

    host: str
    title: str
    description: str
    image: str
    """A URL, or empty."""
    uploaded_image: str
    """The path of an uploaded image, or empty."""
    page_title: str = ""
    """The title of the destination's page."""


def fill_shared(deps: Deps, shared: Mapping[str, str]) -> Form:
    """Fill the form with the `url`, `text` and `title` that a browser or another app shares; all of them may be absent.
    A page of missed addresses names `hostname` and `slug`.

    The destination is the first web address among them: Android sends it as text, often after other words.
    """
    texts = {name: shared.get(name, "").strip() for name in ("url", "text", "title")}
    found = ((name, find_web_url(text)) for name, text in texts.items())
    source, url = next(((name, url) for name, url in found if url), ("", texts["url"] or texts["text"]))
    title = "" if source == "title" else texts["title"]
    address = {"hostname": shared.get("hostname", deps.shared_domain), "slug": shared.get("slug", "")}
    return Form({"form_id": str(new_id()), "destination_url": url, "title": title, **address})


def find_web_url(text: str) -> str:
    """Return the first http or https URL of a text, without the punctuation after it, or an empty text."""
    found = _WEB_URL.search(text)
    if found is None or found[0] == text:
        return text if found else ""
    url = found[0].rstrip(_PUNCTUATION + ")")
    unclosed = max(0, url.count("(") - url.count(")"))  # further parentheses belong to the text around the URL
    return url + ")" * min(unclosed, found[0].count(")", len(url)))


def fill_from_link(routed: RoutedLink, deps: Deps, preferences: Preferences) -> Form:
    """Fill the form. The UTM parameters have fields of their own and are not in the URL."""
    link, routing = routed
    shown: dict[str, Any] = {
        **to_json(link, deps),
        "destination_url": without_query_keys(link.destination_url, link.utm_params),
        "expires_at": preferences.field(link.expires_at),
        "options": {**options_of(link), **forward_form.fill(from_text(link.forward_query), link.forward_path)},
        "starts_at": preferences.field(link.starts_at),
        "click_limit": str(link.click_limit) if link.click_limit else None,
        "fallback_url": routing.fallback_url if routing else None,
        "remove_password": False,
    }
    return Form({name: value for name, value in shown.items() if name in {*NewLink.model_fields, *_LIMITS}})


def fill_copy(routed: RoutedLink, deps: Deps, preferences: Preferences) -> Form:
    """Fill the form for a copy. It lacks what a link has for itself: the slug, an uploaded image, the external ID, the
    password.
    """
    link = routed.link
    form = fill_from_link(routed._replace(link=replace(link, external_id=None)), deps, preferences)
    return Form({**form.fields, "slug": None, "og_image": link.og_image, "form_id": str(new_id())})


def read_new_link(form: Form, preferences: Preferences) -> tuple[NewLink, RoutingChange | None, Problems, UUID]:
    """Read the fields, and the id that makes a form submitted twice create one link."""
    read = _read_fields(form, preferences)
    fields = {name: value for name, value in read.items() if value not in (None, [], {}, _NO_OPTIONS)}
    new, problems = parse(NewLink, fields)
    limits = {name: value for name, value in _read_limits(form, preferences).items() if value is not None}
    routing = _parse_routing(limits, problems) if limits else None
    _check_times(read["expires_at"], limits.get("starts_at"), problems)
    return new, routing, problems, parse_id(form.text("form_id")) or new_id()


def read_destination(form: Form) -> tuple[NewLink, Problems]:
    """Read the destination URL only."""
    return parse(NewLink, {"destination_url": form.text("destination_url").strip()})


def read_change(
    form: Form, routed: RoutedLink, deps: Deps, preferences: Preferences
) -> tuple[LinkChange, RoutingChange, Problems]:
    link, before = routed.link, fill_from_link(routed, deps, preferences)
    fields = _read_fields(form, preferences, link)
    unchanged_ids = [id_ for id_ in before.texts("pixel_ids") if id_ in fields["pixel_ids"]]  # in their order
    fields["pixel_ids"] = list(dict.fromkeys([*unchanged_ids, *fields["pixel_ids"]]))
    unchanged = {**before.fields, "og_image_file": None, "expires_at": link.expires_at and timestamp(link.expires_at)}
    unchanged["options"] = None if fields["options"] is None else _read_options(before)
    changed = {name: value for name, value in fields.items() if value != unchanged[name]}
    if "utm_params" in changed or "destination_url" in changed:
        changed |= {name: fields[name] for name in ("destination_url", "utm_params")}
    change, problems = parse(LinkChange, changed)
    limits, limits_before = (_read_limits(each, preferences, link) for each in (form, before))
    unsafe = routed.routing.unsafe_urls if routed.routing else ()
    changed_limits = {
        name: value
        for name, value in limits.items()
        if name == "password" or value != limits_before[name] or value in unsafe  # saving checks that one again
    }
    routing = _parse_routing(changed_limits, problems)
    if "expires_at" in changed or "starts_at" in changed_limits:
        _check_times(fields["expires_at"], limits.get("starts_at"), problems)
    return change, routing, problems


def _check_times(end: str | None, start: str | None, problems: Problems) -> None:
    """Refuse a link that ends before it starts. Both are as the API takes them."""
    if start and end and start >= end and not {"starts_at", "expires_at"} & {*problems.errors}:
        problems.add("starts_at", _NEVER_WORKS)


def _parse_routing(fields: Mapping[str, Any], problems: Problems) -> RoutingChange:
    routing, found = parse(RoutingChange, fields)
    problems.errors |= found.errors
    return routing


def _read_limits(form: Form, preferences: Preferences, link: Link | None = None) -> dict[str, Any]:
    """Read the fields of the routing that the form has; blank ones are None, and a blank password is left out.

    `link`: whose times the form showed.
    """
    read = {
        "starts_at": preferences.read_field(form.text("starts_at"), link.starts_at if link else None),
        "click_limit": read_number(form.text("click_limit")),
        "fallback_url": form.text("fallback_url").strip() or None,
    }
    limits = {name: value for name, value in read.items() if name in form.fields}
    if form.is_checked("remove_password"):
        return limits | {"password": None}
    return limits | ({"password": password} if (password := form.text("password")) else {})


def read_number(sent: Any) -> Any:
    """Return the number of a text. The schema reports others."""
    return int(sent) if isinstance(sent, str) and _NUMBER.fullmatch(sent.strip()) else sent or None


def as_filled(form: Form) -> Form:
    """Return what was sent as `fill_from_link` shows it."""
    return Form({**form.fields, "tags": _read_tags(form)})


def typed_card(deps: Deps, form: Form) -> SocialCard | None:
    """Build the card without a request to the destination."""
    host = _host(form.text("destination_url"))
    title = form.text("og_title") or form.text("title")
    return _card(deps, host, title, form.text("og_description"), form.text("og_image")) if host else None


def scraped_card(deps: Deps, form: Form, metadata: PageMetadata) -> SocialCard:
    texts = metadata.og_title or metadata.title or "", metadata.og_description or "", metadata.og_image or ""
    return _card(deps, _host(form.text("destination_url").strip()), *texts, page_title=metadata.title or "")


def _card(deps: Deps, host: str, title: str, description: str, image: str, *, page_title: str = "") -> SocialCard:
    uploaded = image.removeprefix(deps.base_url) if media.is_url(deps.base_url, image) else ""
    return SocialCard(host, title, description, image, uploaded, page_title)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _read_fields(form: Form, preferences: Preferences, link: Link | None = None) -> dict[str, Any]:
    """Read all fields of the form; blank ones are None. `link`: whose times the form showed."""
    fields: dict[str, Any] = {name: form.fields.get(name) for name in NewLink.model_fields}
    fields |= {name: form.text(name).strip() or None for name in _STRIPPED}
    if description := form.text("og_description"):  # browsers send line breaks as CRLF
        fields["og_description"] = description.replace("\r\n", "\n")
    params = form.fields.get("utm_params")
    return fields | {
        "utm_params": {key: value for key, value in params.items() if value} if isinstance(params, Mapping) else {},
        "tags": _read_tags(form),
        "expires_at": preferences.read_field(form.text("expires_at"), link.expires_at if link else None),
        "pixel_ids": form.texts("pixel_ids"),
        "options": _read_options(form),
    }


def _read_tags(form: Form) -> list[str]:
    tags = [*form.texts("tags"), *(tag.strip() for tag in form.text("new_tags").split(","))]
    return [tag for tag in tags if tag]


def _read_options(form: Form) -> dict[str, Any] | None:
    """Return None if the form does not have them."""
    if (read := forward_form.read(form)) is None:
        return None
    own = {name: form.text(f"options.{name}").replace("\r\n", "\n").strip() or None for name in _OWN_OPTIONS}
    return read | own
