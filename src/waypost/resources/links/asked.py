"""Which links a list was asked for, read from a URL's query: of the API and of the dashboard."""

import re
from typing import get_args

from starlette.requests import Request

from waypost.kit.errors import Problems
from waypost.resources.links.doors import Doors
from waypost.resources.links.lists import Wanted
from waypost.resources.links.rules import Status
from waypost.resources.links.schemas import canonical_name

FILTERS = ("search", "tag", "hostname", "status")
_MAX_SEARCH = 255
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


def read_wanted(request: Request, doors: Doors, problems: Problems) -> Wanted:
    """An empty filter is none, as an untouched form field sends it."""
    given = {name: request.query_params.get(name) or None for name in FILTERS}
    for name, text in given.items():
        if text and _CONTROLS.search(text):  # no stored text has any, and PostgreSQL would not even compare NUL
            problems.add(name, "This may not hold control characters.")
    if len(given["search"] or "") > _MAX_SEARCH:
        problems.add("search", f"This may have at most {_MAX_SEARCH} characters.")
    if given["status"] not in {None, *get_args(Status)}:
        problems.add("status", f"This must be one of: {', '.join(get_args(Status))}.")
    hostname = canonical_name(given["hostname"] or "")
    shared = hostname == doors.shared_domain
    return Wanted(
        search=given["search"],
        tag=given["tag"],
        hostname=None if shared else hostname or None,
        on_shared_domain=shared,
        status=given["status"],  # type: ignore[arg-type]  # looked at above
    )
