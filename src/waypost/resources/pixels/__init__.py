"""Retargeting pixels: ids at ad platforms whose tags are on the pages of an account's links.

Ids and tokens of platforms are never shown: only routes and the platforms themselves get them.
"""

from waypost.resources.pixels.platforms import PixelTags
from waypost.resources.pixels.store import (
    attach,
    attach_to_new,
    detach_from_links,
    find_own_ids,
    join_pixels,
    lock_own_ids,
    names_query,
    pixel_ids_subquery,
)
