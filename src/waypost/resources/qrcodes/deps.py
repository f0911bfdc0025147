"""Dependencies of QR codes, set once by the composition root."""

from dataclasses import dataclass, field
from uuid import UUID

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.qrcodes.image_cache import ImageCache
from waypost.resources.qrcodes.model import CodeTarget
from waypost.resources.qrcodes.style import MEDIA_TYPES, CodeStyle
from waypost.resources.qrcodes.urls import Urls


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    urls: Urls
    shared_domain: str
    base_url: str
    clock: Clock
    image_cache: ImageCache = field(default_factory=ImageCache)

    def encoded_url(self, target: CodeTarget) -> str:
        """What a reader of the code opens. The longest host and the longest slug fit into a code of every level."""
        scheme = self.base_url.partition("://")[0]
        return f"{scheme}://{target.hostname or self.shared_domain}/{target.slug}?r=qr"

    def image_urls(self, code_id: UUID, style: CodeStyle) -> dict[str, str]:
        """The signed URLs, by the names of their fields."""
        png, svg = (self.urls.sign(code_id, style, image_format) for image_format in MEDIA_TYPES)
        return {"image_url": png, "svg_url": svg}
