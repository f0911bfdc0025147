"""URLs in reports that end all reports to the address of the reader (RFC 8058).

A URL has the digest of the address, signed: it works without a row in the database, and reveals no address.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from waypost.kit.errors import NotFound
from waypost.resources.statistics_reports.model import address_digest
from waypost.secret_key import derived_keys
from waypost.settings import Settings

PATH = "/stats/reports/unsubscribe/{token}"
_DIGEST_SIZE, _SIGNATURE_SIZE = 32, 16


@dataclass(frozen=True, slots=True)
class UnsubscribeUrls:
    base_url: str
    keys: Sequence[bytes]
    """The first one signs; the signatures of all are valid."""

    @classmethod
    def from_settings(cls, settings: Settings) -> "UnsubscribeUrls":
        return cls(settings.base_url, derived_keys(settings, "unsubscribe"))

    def url(self, email: str) -> str:
        digest = bytes.fromhex(address_digest(email))
        token = urlsafe_b64encode(digest + _sign(self.keys[0], digest)).decode()
        return self.base_url + PATH.format(token=token)

    def read(self, token: str) -> str:
        """Return the digest of the address. Raises NotFound."""
        try:
            content = urlsafe_b64decode(token.encode("ascii"))
        except ValueError:
            raise NotFound from None
        digest, signature = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        if not any(hmac.compare_digest(_sign(key, digest), signature) for key in self.keys):
            raise NotFound
        return digest.hex()


def _sign(key: bytes, digest: bytes) -> bytes:
    return hmac.digest(key, digest, "sha256")[:_SIGNATURE_SIZE]
