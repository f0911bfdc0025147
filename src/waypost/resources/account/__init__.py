"""The caller's own account and API keys, as the API shows them. Changing them is the operator's business."""

from waypost.resources.account.api import routes

__all__ = ["routes"]
