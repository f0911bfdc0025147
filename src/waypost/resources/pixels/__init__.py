"""Retargeting pixels: an account's ids at ad platforms, fired on the pages of its links.

A platform's ids and tokens are never shown: only routes and the platforms themselves get them.
"""

from waypost.resources.pixels.deps import Deps
from waypost.resources.pixels.platforms import PixelTags
from waypost.resources.pixels.service import delete_all_for, export
from waypost.resources.pixels.store import attach, detach_from_links, hold, ids_of, join_pixels, known, names_of

__all__ = [
    "Deps",
    "PixelTags",
    "attach",
    "delete_all_for",
    "detach_from_links",
    "export",
    "hold",
    "ids_of",
    "join_pixels",
    "known",
    "names_of",
]
