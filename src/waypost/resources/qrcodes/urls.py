"""A picture's URL: it spells the whole look and is signed, so it needs no row and counts only as it was given.

Refuses whatever differs from what was signed by a byte: what was added, reordered, or written in another way.
"""

import hmac
from collections.abc import Sequence
from dataclasses import astuple
from typing import Literal
from uuid import UUID

from waypost.kit.errors import Forbidden
from waypost.resources.qrcodes.style import CodeStyle
from waypost.web import PREFIX

Format = Literal["png", "svg"]

NOT_AS_GIVEN = "The URL's signature is missing or does not match. Use image_url or svg_url exactly as the API gave it."

_PATH = f"{PREFIX}/qrcodes/{{}}/image/{{}}"
_MARK = b"&signature="


class Urls:
    def __init__(self, base_url: str, keys: Sequence[bytes]) -> None:
        """The first key signs; a URL that any of them signed counts."""
        self._base_url = base_url
        self._keys = keys

    def url(self, code: UUID, style: CodeStyle, form: Format) -> str:
        signed = f"{_PATH.format(code, form)}?v={style_text(style)}"
        return f"{self._base_url}{signed}{_MARK.decode()}{_digest(self._keys[0], signed.encode()).decode()}"

    def read(self, path: bytes, query: bytes) -> str:
        """The look as its URL spells it. `path` and `query` as they came over the wire. Raises Forbidden."""
        told, _, given = query.rpartition(_MARK)
        signed = b"%b?%b" % (path, told)
        if not any(hmac.compare_digest(_digest(key, signed), given) for key in self._keys):
            raise Forbidden(NOT_AS_GIVEN)
        return told.decode().removeprefix("v=")


def style_text(style: CodeStyle) -> str:
    return "-".join(str(each).removeprefix("#") for each in astuple(style))


def parse_style(text: str) -> CodeStyle:
    """`text` as `style_text` wrote it."""
    foreground, background, level, style, size, margin = text.split("-")
    return CodeStyle(f"#{foreground}", f"#{background}", level, style, int(size), int(margin))  # type: ignore[arg-type]


def _digest(key: bytes, signed: bytes) -> bytes:
    return hmac.digest(key, signed, "sha256").hex().encode()
