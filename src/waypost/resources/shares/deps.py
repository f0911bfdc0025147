"""Dependencies of shares."""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from waypost.context import Context
from waypost.database import DecryptionFailed
from waypost.kit import base64url
from waypost.resources.shares.model import Share, shares

SEGMENT = "share"
"""The first segment of the path of shared statistics."""


def new_token() -> str:
    """Return 43 characters."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, kw_only=True)
class Deps(Context):
    embed_keys: Sequence[bytes] = field(repr=False)
    """The first one signs, the signatures of all are valid."""

    def url(self, share: Share) -> str | None:
        """Return the URL of a share; None if the secret key that its token was encrypted with is gone."""
        try:
            token = self.key_ring.decrypt(shares.c.token, share.id, share.token)
        except DecryptionFailed:
            return None
        return f"{self.base_url}/{SEGMENT}/{token}"

    def embed_url(self, share: Share) -> str | None:
        """Return the URL for frames, which needs no password; None if no page may embed the share."""
        url = self.url(share)
        return f"{url}/embed/{_sign(self.embed_keys[0], share)}" if url and share.embed_origins else None

    def is_signed(self, share: Share, signature: str) -> bool:
        """Return whether a signature is valid for the present password and origins."""
        return bool(share.embed_origins) and any(
            hmac.compare_digest(_sign(key, share).encode(), signature.encode()) for key in self.embed_keys
        )


def _sign(key: bytes, share: Share) -> str:
    return base64url.encode(hmac.digest(key, b"%b %d" % (share.id.hex.encode(), share.access_version), "sha256"))
