"""Retargeting pixels: what an ad platform knows an account by, fired on its links' pages. The room's only auth.

Never shows what a platform's id or token is: only routes and the platforms themselves get to know.
"""

from waypost.resources.pixels.attached import attach, hold, ids_of, known
from waypost.resources.pixels.deps import Deps
from waypost.resources.pixels.model import link_pixels, pixels
from waypost.resources.pixels.tags import Tags

__all__ = ["Deps", "Tags", "attach", "hold", "ids_of", "known", "link_pixels", "pixels"]
