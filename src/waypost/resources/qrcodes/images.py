"""The image of a code as it is now: with the URL and the logo of its link."""

from functools import partial
from uuid import UUID

from waypost.database import Database
from waypost.resources.domains.logos import Logo
from waypost.resources.domains.logos import store as logos
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.image_cache import CodeImage
from waypost.resources.qrcodes.layout import Layout, lay_out
from waypost.resources.qrcodes.model import CodeTarget, QrCode
from waypost.resources.qrcodes.style import CodeStyle, ImageFormat
from waypost.resources.qrcodes.warnings import warnings


def new_image(deps: Deps, target: CodeTarget, style: str, image_format: ImageFormat, logo: Logo | None) -> CodeImage:
    """`style`: the text of `style_text`. `logo`: of a style that shows it."""
    return CodeImage(deps.encoded_url(target), style, image_format, logo)


async def draw(deps: Deps, image: CodeImage, *, account: UUID) -> bytes:
    """Return the image. Raises Unavailable if too many are waiting."""
    return await deps.image_cache.get_or_draw(image, account=account, read_logo=partial(_read_logo, deps.db))


async def _read_logo(db: Database, name: str) -> bytes | None:
    async with db.point_read() as tx:
        return await logos.read(tx, name)


def new_layout(deps: Deps, code: QrCode, style: CodeStyle) -> Layout:
    """Lay out the code in a style, which may not be its own."""
    size = (code.logo.width, code.logo.height) if code.logo else None
    return lay_out(deps.encoded_url(code.target), style, size)


def find_warnings(code: QrCode, style: CodeStyle, layout: Layout) -> list[str]:
    return list(warnings(style, layout, has_logo=code.logo is not None))
