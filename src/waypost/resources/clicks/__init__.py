"""Clicks: visits from the spool, enriched and counted exactly once."""
