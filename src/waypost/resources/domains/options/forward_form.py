"""The fields of forms that say what is forwarded, of links and of domains."""

from collections.abc import Mapping
from typing import Any

from waypost.kit.forward_query import ForwardQuery
from waypost.web.dashboard import Form

LABELS = {
    "options[forward_query]": "Query of the visitor",
    "options[names]": "Parameters",
    "options[forward_path]": "Path after the link",
}
_NAMED = "names"
CHOICES: Mapping[str, Mapping[str, str]] = {
    "options[forward_query]": {
        "none": "Do not forward",
        "all": "Forward all parameters",
        _NAMED: "Forward these parameters",
    },
    "options[forward_path]": {"no": "Do not forward", "yes": "Add it to the destination"},
}
_PATHS = {"yes": True, "no": False}


def fill(query: ForwardQuery | None, path: bool | None) -> Mapping[str, str]:  # noqa: FBT001  # a value
    return {
        "forward_query": _NAMED if isinstance(query, list) else query or "",
        "names": ", ".join(query) if isinstance(query, list) else "",
        "forward_path": "" if path is None else "yes" if path else "no",
    }


def read(form: Form) -> dict[str, Any] | None:
    """Return the options as the API takes them. None if the form does not have them."""
    sent = form.fields.get("options")
    if not isinstance(sent, Mapping):
        return None
    query, path = sent.get("forward_query") or None, sent.get("forward_path") or None
    if query == _NAMED:
        query = [name.strip() for name in str(sent.get("names") or "").split(",") if name.strip()]
    return {"forward_query": query, "forward_path": _PATHS.get(path, path) if isinstance(path, str) else path}
