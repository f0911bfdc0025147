"""Signed URLs of images."""

import hmac
from collections.abc import Sequence
from uuid import UUID

from waypost.kit.errors import Forbidden
from waypost.resources.qrcodes.style import CodeStyle, ImageFormat, style_text
from waypost.web import PREFIX

_BAD_SIGNATURE = (
    "The URL's signature is missing or does not match. Use image_url, svg_url or pdf_url"
    " exactly as the API returned it."
)
_PATH = f"{PREFIX}/qrcodes/{{}}/image/{{}}"
_SIGNATURE = b"&signature="


class Urls:
    """Signed URLs of images. A URL contains the style, so it works without a row in the database.

    The signature covers the bytes of path and query: a parameter added, reordered or encoded differently makes it
    invalid.
    """

    def __init__(self, base_url: str, keys: Sequence[bytes]) -> None:
        """The first key signs; the signatures of all keys are valid."""
        self._base_url = base_url
        self._keys = keys

    def sign(self, code_id: UUID, style: CodeStyle, image_format: ImageFormat) -> str:
        signed = f"{_PATH.format(code_id, image_format)}?v={style_text(style)}"
        return f"{self._base_url}{signed}{_SIGNATURE.decode()}{_digest(self._keys[0], signed.encode()).decode()}"

    def verify(self, path: bytes, query: bytes) -> str:
        """Return the text of the style. `path` and `query`: as received. Raises Forbidden."""
        signed_query, _, signature = query.rpartition(_SIGNATURE)
        signed = b"%b?%b" % (path, signed_query)
        if not any(hmac.compare_digest(_digest(key, signed), signature) for key in self._keys):
            raise Forbidden(_BAD_SIGNATURE)
        return signed_query.decode().removeprefix("v=")


def _digest(key: bytes, signed: bytes) -> bytes:
    return hmac.digest(key, signed, "sha256").hex().encode()
