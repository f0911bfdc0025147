"""QR codes: one for each link from its beginning, drawn as its account wants it. The room's only auth.

Knows no key on the way to a picture: its URL is signed, and counts only as it was given.
"""

from waypost.resources.qrcodes.counters import add_scans
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.image_cache import ImageCache
from waypost.resources.qrcodes.urls import Urls

__all__ = ["Deps", "ImageCache", "Urls", "add_scans"]
