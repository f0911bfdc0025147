"""Documents that say which apps open the links of a custom domain.

iOS and Android request them at fixed paths, and do not follow redirects. The route of the host has the version of its
documents, so those in memory are never older than the route.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

APPLE_PATH = b".well-known/apple-app-site-association"
GOOGLE_PATH = b".well-known/assetlinks.json"

_MAX_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class AppLinks:
    version: bytes
    """32 hex digits."""
    documents: Mapping[bytes, bytes]
    """JSON by path."""

    @property
    def size(self) -> int:
        return sum(map(len, self.documents.values()))


class AppLinksCache:
    """The app links of the hosts that were requested last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, AppLinks] = OrderedDict()
        self._size = 0

    def find(self, version: bytes) -> AppLinks | None:
        found = self._kept.get(version)
        if found:
            self._kept.move_to_end(version)
        return found

    def keep(self, app_links: AppLinks) -> None:
        if app_links.version in self._kept:
            return
        self._kept[app_links.version] = app_links
        self._size += app_links.size
        while self._size > _MAX_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.size
