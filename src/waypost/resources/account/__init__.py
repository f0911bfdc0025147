"""The account of a user: its pages, its API keys, its export and its deletion."""

from waypost.resources.account.api import endpoints

__all__ = ["endpoints"]
