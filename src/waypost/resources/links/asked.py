"""Which links a list was asked for, read from a URL's query: of the API and of the dashboard."""

from typing import get_args

from starlette.requests import Request

from waypost.kit.errors import Problems
from waypost.kit.fields import text_problem
from waypost.resources.links.deps import Deps
from waypost.resources.links.lists import Wanted
from waypost.resources.links.rules import Status
from waypost.resources.links.schemas import canonical_name
from waypost.web import read_query

FILTERS = ("search", "tag", "hostname", "status")
MAX_SEARCH = 255


def read_wanted(request: Request, deps: Deps, problems: Problems) -> Wanted:
    query = read_query(request)
    given = {name: query.get(name) for name in FILTERS}
    for name, text in given.items():
        if problem := text_problem(text or ""):
            problems.add(name, problem)
    if len(given["search"] or "") > MAX_SEARCH:
        problems.add("search", f"This may have at most {MAX_SEARCH} characters.")
    if given["status"] not in {None, *get_args(Status)}:
        problems.add("status", f"This must be one of: {', '.join(get_args(Status))}.")
    hostname = canonical_name(given["hostname"] or "")
    shared = hostname == deps.shared_domain
    return Wanted(
        search=given["search"],
        tag=given["tag"],
        hostname=None if shared else hostname or None,
        on_shared_domain=shared,
        status=given["status"],  # type: ignore[arg-type]  # looked at above
    )
