"""Base64 for URLs, without padding (RFC 4648 5)."""

from base64 import urlsafe_b64decode, urlsafe_b64encode


def encode(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Raises ValueError."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
