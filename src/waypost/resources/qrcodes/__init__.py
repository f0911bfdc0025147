"""QR codes: every link has one, in the style its account chose."""

from waypost.resources.qrcodes.deps import Deps, Urls
from waypost.resources.qrcodes.image_cache import ImageCache
from waypost.resources.qrcodes.service import add_scans, delete_for_links, find_wrong_scans, set_scans

__all__ = ["Deps", "ImageCache", "Urls", "add_scans", "delete_for_links", "find_wrong_scans", "set_scans"]
