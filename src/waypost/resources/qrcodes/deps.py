"""Dependencies of QR codes, set once by the composition root."""

from dataclasses import dataclass, field

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.qrcodes import rules
from waypost.resources.qrcodes.image_cache import ImageCache
from waypost.resources.qrcodes.model import CodeTarget
from waypost.resources.qrcodes.urls import Urls


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    urls: Urls
    shared_domain: str
    base_url: str
    clock: Clock
    image_cache: ImageCache = field(default_factory=ImageCache)

    def encoded(self, target: CodeTarget) -> str:
        scheme = self.base_url.partition("://")[0]
        return rules.encoded(target, shared_domain=self.shared_domain, scheme=scheme)
