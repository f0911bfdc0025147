"""Clicks: visits read from this machine's spool, told what they are, counted exactly once."""

from waypost.resources.clicks.drain import Drainer
from waypost.resources.clicks.model import Click
from waypost.resources.clicks.steps import Rules

__all__ = ["Click", "Drainer", "Rules"]
