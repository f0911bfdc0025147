"""Health of links: the worker visits their destinations regularly, and people see which are broken.

Nothing is disabled by it. `visits` is the job, `rules` decides what a visit says of a link.
"""

from waypost.resources.links.health.model import HealthStatus, LinkHealth
from waypost.resources.links.health.store import delete_of_links, find, find_broken, find_of_links, reset
