"""Where the visitors of a link are sent: rules, variants, password, fallback.

The verbs are in `service`; they lock the link. Start and click limit are columns of the link: its status depends on
them.
"""

from waypost.resources.links.routing.model import LinkRouting, RuleJson, VariantJson
from waypost.resources.links.routing.store import (
    RouteColumns,
    add_many,
    delete_of_links,
    find,
    find_of_links,
    find_protected,
    find_routed,
    find_unchecked,
    join_routing,
    read_route_columns,
    save,
)
