"""Custom domains: host names that accounts prove to be theirs, and serve their links on. The room's only door.

Serves no name that is not proven, and lets nobody hold one for long that they cannot prove.
"""

from waypost.resources.domains.attached import id_of, known, move_link, name_of, serving
from waypost.resources.domains.doors import Doors, Vet, nowhere
from waypost.resources.domains.hosts import Hosts
from waypost.resources.domains.model import domains

__all__ = ["Doors", "Hosts", "Vet", "domains", "id_of", "known", "move_link", "name_of", "nowhere", "serving"]
