"""Messages of the change feed that are not slugs."""

from uuid import UUID

HOST_PREFIX, PIXEL_PREFIX, NEAR_PREFIX = b"@", b"*", b"~"
_ALL = b"!"

ALL_ROUTES = _ALL.decode()
"""A message for the feed: every route may have changed. All of them are read again when they are visited."""

ALL_NEAR = NEAR_PREFIX.decode()
"""A message for the feed: links moved to another host, so that near addresses may lead to others."""


def affects_all(change: bytes) -> bool:
    return change == _ALL


def host_change(hostname: str) -> str:
    """Return a message for the feed: the host's route and every route on it may have changed."""
    return f"{HOST_PREFIX.decode()}{hostname}"


def pixel_change(pixel_id: UUID) -> str:
    """Return a message for the feed: every route with this pixel may have changed."""
    return f"{PIXEL_PREFIX.decode()}{pixel_id.hex}"
