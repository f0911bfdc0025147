"""Aliases: more addresses for one link, on the account's own domains. The verbs are in `links`, which they lock.

Another package writes aliases in bulk with `add_many`, those that `split_by_limit` allows.
"""

from waypost.resources.links.aliases.model import Alias
from waypost.resources.links.aliases.rules import MAX_ALIASES, PATH_TAKEN, TOO_MANY, find_path_problem, to_search_text
from waypost.resources.links.aliases.store import (
    AliasAddress,
    add_many,
    count,
    delete,
    delete_of_links,
    find_links,
    find_of_domain,
    find_of_links,
    get,
    has_aliases,
    list_page,
    read_paths,
    route_changes,
    select_near,
    select_target,
    split_by_limit,
)
