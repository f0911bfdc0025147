"""Dependencies of QR codes."""

from dataclasses import dataclass, field
from uuid import UUID

from waypost.context import Context
from waypost.resources.links.images.encoder import ImageReencoder
from waypost.resources.qrcodes.file_turns import FileTurns
from waypost.resources.qrcodes.image_cache import ImageCache
from waypost.resources.qrcodes.image_urls import Urls
from waypost.resources.qrcodes.model import CodeTarget
from waypost.resources.qrcodes.style import MEDIA_TYPES, CodeStyle


@dataclass(frozen=True, kw_only=True)
class Deps(Context):
    urls: Urls
    image_cache: ImageCache = field(default_factory=ImageCache)
    image_reencoder: ImageReencoder = field(default_factory=lambda: ImageReencoder(threads=1))
    turns: FileTurns = field(default_factory=FileTurns)

    def encoded_url(self, target: CodeTarget) -> str:
        """Return the URL in the code. The longest host with the longest slug fits into a code of every level."""
        scheme = self.base_url.partition("://")[0]
        return f"{scheme}://{target.short_url(self.shared_domain)}?r=qr"

    def image_urls(self, code_id: UUID, style: CodeStyle) -> dict[str, str]:
        """Return the signed URLs by the names of their fields."""
        png, svg, pdf = (self.urls.sign(code_id, style, image_format) for image_format in MEDIA_TYPES)
        return {"image_url": png, "svg_url": svg, "pdf_url": pdf}
