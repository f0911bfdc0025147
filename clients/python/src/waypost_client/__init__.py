"""Client for the API of Waypost, the service for branded short links.

`Waypost` is synchronous, `AsyncWaypost` asynchronous. `verify_webhook` reads the requests that webhooks receive.
"""

from waypost_client._values import OMITTED, Omitted, to_json
from waypost_client.client import AsyncWaypost, Waypost
from waypost_client.errors import (
    ConnectionFailed,
    Forbidden,
    NotFound,
    PaymentRequired,
    RateLimited,
    ServerError,
    SignatureError,
    Unauthenticated,
    UnexpectedResponse,
    ValidationError,
    WaypostError,
)
from waypost_client.models import Event
from waypost_client.pages import AsyncPages, Page, Pages
from waypost_client.version import VERSION
from waypost_client.webhooks import verify_webhook

__version__ = VERSION

__all__ = [
    "OMITTED",
    "AsyncPages",
    "AsyncWaypost",
    "ConnectionFailed",
    "Event",
    "Forbidden",
    "NotFound",
    "Omitted",
    "Page",
    "Pages",
    "PaymentRequired",
    "RateLimited",
    "ServerError",
    "SignatureError",
    "Unauthenticated",
    "UnexpectedResponse",
    "ValidationError",
    "Waypost",
    "WaypostError",
    "__version__",
    "to_json",
    "verify_webhook",
]
