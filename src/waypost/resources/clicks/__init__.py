"""Clicks: visits from the spool, enriched and counted exactly once."""

from waypost.resources.clicks.deps import Deps
from waypost.resources.clicks.intake.drain import Drainer
from waypost.resources.clicks.intake.steps import IntakeSettings
from waypost.resources.clicks.model import Click

__all__ = ["Click", "Deps", "Drainer", "IntakeSettings"]
