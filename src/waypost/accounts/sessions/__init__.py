"""Sessions of the dashboard."""
