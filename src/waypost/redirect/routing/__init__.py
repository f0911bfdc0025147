"""Chooses the destination of a visit to a link with rules or variants."""
