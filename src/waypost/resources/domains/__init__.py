"""Custom domains: host names that accounts prove to be theirs, and serve their links on. The room's only auth.

Serves no name that is not proven, and lets nobody hold one for long that they cannot prove.
"""

from waypost.resources.domains.attached import id_of, known, move_link, name_of, serving
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.hosts import Hosts
from waypost.resources.domains.model import domains
from waypost.resources.domains.pointing import points_here

__all__ = ["Deps", "Hosts", "domains", "id_of", "known", "move_link", "name_of", "points_here", "serving"]
