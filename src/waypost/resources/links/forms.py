"""A link's form: what its fields show of a link, and what they send, both in the shape of an API body.

A change sends only what differs from the link: a destination that stays is not looked at again, and a moment that has
passed may stay.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from waypost.kit.ids import new_id
from waypost.kit.urls import UTM_KEYS, without_query_keys
from waypost.resources.links import media
from waypost.resources.links.deps import Deps
from waypost.resources.links.model import Link
from waypost.web.dashboard import Form

_NAMES = (
    "destination_url",
    "slug",
    "title",
    "hostname",
    "og_title",
    "og_description",
    "og_image",
    "og_image_file",
)
_TYPED_FREELY = ("destination_url", "slug", "og_image")
_OFFSET = re.compile(r"-?[0-9]{1,4}", re.ASCII)
_MOST_MINUTES = 18 * 60


def blank(deps: Deps) -> Form:
    return Form({"form_id": str(new_id()), "hostname": deps.shared_domain})


def of_link(link: Link, deps: Deps) -> Form:
    """Moments in UTC, to the second; a destination without the parameters that have fields of their own."""
    image = media.url(deps.base_url, link.og_image_media) if link.og_image_media else link.og_image
    return Form(
        {
            "destination_url": without_query_keys(link.destination_url, link.utm_params),
            "slug": link.slug,
            "title": link.title,
            "hostname": link.hostname or deps.shared_domain,
            "og_title": link.og_title,
            "og_description": link.og_description,
            "og_image": image,
            "utm_params": {key: link.utm_params[key] for key in UTM_KEYS if key in link.utm_params},
            "tags": list(link.tags),
            "expires_at": f"{link.expires_at:%Y-%m-%dT%H:%M:%S}" if link.expires_at else None,
            "pixel_ids": [str(id_) for id_ in link.pixel_ids],
        }
    )


def copy_of(link: Link, deps: Deps) -> Form:
    """A new form with all that can be had twice: no slug, and no image that goes when the link goes."""
    fields = {**of_link(link, deps).fields, "slug": None, "form_id": str(new_id())}
    return Form(fields | {"og_image": link.og_image})


def sent(form: Form) -> dict[str, Any]:
    """All fields of the form; what is blank is null."""
    fields: dict[str, Any] = {name: form.fields.get(name) for name in _NAMES}
    for name in _TYPED_FREELY:
        fields[name] = form.text(name).strip() or None
    for name, value in fields.items():
        if isinstance(value, str):  # browsers send a line's end as two signs
            fields[name] = value.replace("\r\n", "\n")
    tags = [*form.texts("tags"), *(tag.strip() for tag in form.text("new_tags").split(","))]
    params = form.fields.get("utm_params")
    return fields | {
        "utm_params": {key: value for key, value in params.items() if value} if isinstance(params, Mapping) else {},
        "tags": [tag for tag in tags if tag],
        "expires_at": _moment(form.text("expires_at"), form.text("expires_offset")),
        "pixel_ids": form.texts("pixel_ids"),
    }


def created(form: Form) -> dict[str, Any]:
    return {name: value for name, value in sent(form).items() if value not in (None, [], {})}


def changes(form: Form, link: Link, deps: Deps) -> dict[str, Any]:
    fields, before = sent(form), of_link(link, deps)
    kept = [id_ for id_ in before.texts("pixel_ids") if id_ in fields["pixel_ids"]]  # in the link's order
    fields["pixel_ids"] = list(dict.fromkeys([*kept, *fields["pixel_ids"]]))
    stays: dict[str, Any] = {
        **before.fields,
        "og_image_file": None,
        "expires_at": _moment(before.text("expires_at"), ""),
    }
    changed = {name: value for name, value in fields.items() if value != stays[name]}
    if "utm_params" in changed or "destination_url" in changed:
        changed |= {name: fields[name] for name in ("destination_url", "utm_params")}
    return changed


def _moment(local: str, offset: str) -> str | None:
    """`offset`: minutes that UTC is ahead of the browser's clock, as JavaScript counts; none is UTC."""
    if not local:
        return None
    minutes = int(offset) if _OFFSET.fullmatch(offset) else 0
    try:
        at = datetime.fromisoformat(local)
    except ValueError:
        return local  # the schema tells what is wrong with it
    if at.tzinfo is not None or abs(minutes) > _MOST_MINUTES:
        return local
    try:
        return f"{(at + timedelta(minutes=minutes)).isoformat(timespec='seconds')}Z"
    except OverflowError:
        return local
